"""Sends words from standard input to a running `turia serve` and prints the captions.

    turia serve                                    # in another terminal
    some-recogniser | python examples/speak.py

Prints the address of the audience's page first. It reconnects by itself after a lost connection or a restart of the
server.
"""

import asyncio
import sys

from turia.protocol.client import Speaker


async def read_words(speaker: Speaker) -> None:
    while line := await asyncio.to_thread(sys.stdin.readline):
        await speaker.say(*line.split())
    await speaker.end()


async def main(url: str) -> None:
    # If reading fails, the task group also ends the loop below.
    async with Speaker(url) as speaker, asyncio.TaskGroup() as tasks:
        print(f"{url}/watch/{speaker.session}", file=sys.stderr, flush=True)
        tasks.create_task(read_words(speaker))
        async for event in speaker.events():
            if event["type"] in ("write", "sentence"):
                print(event.get("word", "\n"), end=" " if "word" in event else "", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"))
