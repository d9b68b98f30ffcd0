"""A recogniser's output on standard input to a running `turia serve`, captions to standard output.

    some-recogniser | python examples/asr.py vosk          # or words, whisper, jsonl, deepgram (docs/asr.md)
    turia serve                                            # in another terminal, before

Only final words are sent. Their times go with them: `/api/sessions/NAME/transcript.srt?clock=speaker` has them.
"""

import asyncio
import sys

from turia.client import Speaker
from turia.interop.asr_feeds import spoken_words


async def send(speaker: Speaker, feed: str) -> None:
    words = spoken_words(feed, sys.stdin, "standard input")
    while (word := await asyncio.to_thread(next, words, None)) is not None:
        await speaker.say(word.text, at=None if word.end is None else 1000 * word.end)
    await speaker.end()


async def main(feed: str = "words", url: str = "http://127.0.0.1:8000") -> None:
    async with Speaker(url, k=4) as speaker:
        print(f"{url}/watch/{speaker.session}", file=sys.stderr, flush=True)
        sending = asyncio.create_task(send(speaker, feed))
        async for event in speaker.events():
            if event["type"] in ("write", "sentence"):
                print(event.get("word", "\n"), end=" " if "word" in event else "", flush=True)
        await sending


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
