"""Prints the captions of a session, as the audience sees them.

python examples/watch.py NAME           # NAME is the last part of the audience's address, /watch/NAME
"""

import asyncio
import sys

from turia.protocol.client import Follower


async def main(name: str, url: str = "http://127.0.0.1:8000") -> None:
    async with Follower(url, name) as follower:
        async for event in follower.events():
            if event["type"] == "write":
                print(event["word"], end=" ", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
