"""The commands about a server and what it has shown: `turia serve`, `relay` and `replay`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from turia.commands.extras import needs
from turia.commands.options import (
    Beam,
    BrowserSpeech,
    History,
    KernelsOption,
    Listeners,
    Pause,
    Policy,
    ServerRecognisers,
    check_address,
)
from turia.errors import InputError, Stopped
from turia.stream.silence import PAUSE
from turia.text.counted import counted


def serve(
    host: Annotated[str, typer.Option(help="Address; one that others can reach needs --key-file.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    model: Annotated[
        list[str] | None,
        typer.Option(help="A model's name or folder; may be repeated. By default all installed models."),
    ] = None,
    key_file: Annotated[Path | None, typer.Option(metavar="FILE", help="File of API keys, one a line.")] = None,
    origin: Annotated[list[str] | None, typer.Option(help="Accept pages of this origin too: https://a.org.")] = None,
    data: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Folder for the sessions.")] = None,
    streams: Annotated[
        int | None, typer.Option(min=1, help="Most streams at once; by default measured. Further ones are refused.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL", envvar="TURIA_STORE", help="Keep sessions in this Redis, which several servers can share."
        ),
    ] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="Serve on the Ray cluster of RAY_ADDRESS, or start one here.")
    ] = False,
    replicas: Annotated[int, typer.Option(min=1, help="With --ray: most replicas, each with its own --streams.")] = 1,
    gpu: Annotated[
        bool, typer.Option("--gpu", help="Run on a GPU, one for each replica; needs onnxruntime-gpu.")
    ] = False,
    kernels: KernelsOption = None,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads that share the work of many streams; more than one for many speakers.")
    ] = 1,
    beam: Beam = None,
    history: History = None,
    retention: Annotated[
        str, typer.Option(metavar="TIME", help="Delete sessions that nobody has used for so long: 12h, 7d.")
    ] = "7d",
    operator_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File of keys that may delete and steer any session.")
    ] = None,
    quota: Annotated[
        str | None, typer.Option(metavar="SIZE", help="What the sessions of one key may take: 500MB, 2GB.")
    ] = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(help="Log messages of this level and above.")
    ] = "info",
    log_format: Annotated[
        Literal["text", "json"], typer.Option(help="Logs for people, or one JSON object a line.")
    ] = "text",
    pause: Pause = PAUSE,
    policy: Policy = None,
    notice: Annotated[
        str, typer.Option(metavar="TEXT", help="Notice that the pages show beside the captions; empty for none.")
    ] = "Machine translation",
    notice_position: Annotated[
        Literal["top", "bottom"], typer.Option(help="Where the notice stands: above the captions or below.")
    ] = "top",
    frame_ancestor: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Let this site embed the audience's page and the overlay: https://a.org."),
    ] = None,
    room: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[=TITLE]", help='A room whose address stays: main-hall="Main hall"; may be repeated.'
        ),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Where others reach the server, for links: https://captions.example.org."),
    ] = None,
    glossary: Annotated[
        list[str] | None,
        typer.Option(metavar="[MODEL=]FILE", help="Table of terms for all sessions, read again if it changes."),
    ] = None,
    recogniser: ServerRecognisers = None,
    listeners: Listeners = None,
    browser_speech: BrowserSpeech = False,
) -> None:
    """Live captions: a web page and a WebSocket."""
    from concurrent.futures import ThreadPoolExecutor

    from turia.commands.recognisers import check_recognisers, load_recognition
    from turia.runtime.home import packaged_models
    from turia.runtime.translator import Translator
    from turia.server.addresses import checked_public_url
    from turia.server.capacity import FIRST_SECONDS, TOGETHER, measured_streams
    from turia.server.glossaries import follow_glossaries, parse_tables
    from turia.server.limits import Limits, parse_time
    from turia.server.logs import configure
    from turia.server.pages import Pages
    from turia.server.quota import parse_size
    from turia.server.rooms import parse_room
    from turia.server.serve import ServeOptions, check_origins, checked_access, data_folder, listen
    from turia.server.serve import serve as run_server
    from turia.system.onnx import CPU, GPU

    if store is not None:
        needs("redis")
    if store is not None and "@" in store and any(store in argument for argument in sys.argv):
        hint = "give it by the variable TURIA_STORE"
        print(f"warning: other users of this machine can see the password of --store (ps); {hint}", file=sys.stderr)
    if store is not None and data is not None:
        raise InputError("--data is not used with --store: sessions are kept there")
    if ray and store is None:
        raise InputError("--ray needs --store, a Redis that all replicas can reach: redis://HOST:PORT/0")
    if replicas > 1 and not ray:
        raise InputError("--replicas needs --ray: without it there is one server, on this machine")
    if store is not None and quota is not None:
        raise InputError("--quota is for sessions in a file; limit a Redis by its maxmemory")
    keep, most_bytes = parse_time(retention, "--retention"), 0 if quota is None else parse_size(quota, "--quota")
    configure(log_level, log_format)
    # What can be refused is refused before models are loaded.
    checked_access(host, key_file, origin or (), operator_key_file)
    check_origins(frame_ancestor or ())
    tables = parse_tables(glossary or ())
    pages = Pages(notice, notice_position, tuple(frame_ancestor or ()), browser_speech)
    rooms = tuple(map(parse_room, room or ()))
    if len({one.name for one in rooms}) < len(rooms):
        raise InputError("--room: expected different names")
    public_url = None if public_url is None else checked_public_url(public_url)
    if ray and (recogniser or listeners):
        raise InputError("--recogniser and --listeners are not for --ray: its replicas recognise no speech")
    if ray and threads > 1:
        raise InputError("--threads is not for --ray: start more replicas")
    check_recognisers(recogniser)
    listening = None if ray else listen(host, port)
    names = tuple(model or packaged_models() or ["de-en"])
    providers = GPU if gpu else CPU

    def load(name: str) -> Translator:
        return Translator.load(
            name, threads=threads, providers=providers, history=history, beam=beam, policy=policy, kernels=kernels
        )

    with ThreadPoolExecutor() as pool:
        # ONNX Runtime builds one model a core.
        loaded = list(pool.map(load, names))
    directions = [translator.model.name for translator in loaded]
    if len(set(directions)) < len(directions):
        raise InputError(f"--model: one model a direction, but these are {', '.join(directions)}")
    follow_glossaries({translator.model.name: translator for translator in loaded}, tables)

    def prepare() -> int:
        """Graphs for many streams take longer to build than all else: the first page is not to wait for them."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda translator: translator.warm_up(streams or TOGETHER), loaded))
        if streams is not None:
            return streams
        measured = measured_streams(loaded, FIRST_SECONDS)
        print(
            f"This machine holds {counted(measured, 'stream')} at once, as measured now; --streams sets another number."
        )
        return measured

    if ray and store is not None:
        needs("ray")
        from turia.server.on_ray import Deployed, serve_on_ray

        held = prepare()
        del loaded
        origins = tuple(origin or ())
        deployed = Deployed(
            store, names, held, history=history, beam=beam, policy=policy, most=replicas, gpus=1.0 if gpu else 0.0,
            key_file=key_file, operator_key_file=operator_key_file, origins=origins, pages=pages,
            limits=Limits(keep=keep, pause=pause), rooms=tuple(room or ()), public_url=public_url,
            glossaries=tuple(glossary or ()), kernels=kernels,
        )  # fmt: skip
        serve_on_ray(deployed, host, port)
        return
    limits = Limits(keep=keep, pause=pause, quota=most_bytes)
    recognition = load_recognition(recogniser, [translator.model.languages[0] for translator in loaded], listeners)
    options = ServeOptions(
        host, port, data or data_folder(), limits, key_file, tuple(origin or ()), store, operator_key_file,
        streams is None, pages, rooms, public_url, recognition, prepare,
    )  # fmt: skip
    run_server({translator.model.name: translator for translator in loaded}, options, listening)


def relay(
    session: Annotated[
        str, typer.Argument(metavar="SESSION", help="Name of a session, or the address of its page or of a room.")
    ],
    server: Annotated[str, typer.Option(metavar="URL", help="Address of a running server.")] = "http://127.0.0.1:8000",
    youtube: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the caption address of a YouTube stream; or TURIA_YOUTUBE_URL."),
    ] = None,
    zoom: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with the caption address of a Zoom meeting; or TURIA_ZOOM_URL."),
    ] = None,
    hls: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write a playlist and WebVTT segments for HLS here.")
    ] = None,
    mpegts: Annotated[
        int, typer.Option(min=0, max=2**33 - 1, help="With --hls: the video's time (90 kHz) when the session began.")
    ] = 900_000,
    side: Annotated[Literal["target", "source"], typer.Option(help="The translation, or what is spoken.")] = "target",
    language: Annotated[
        str | None, typer.Option(metavar="CODE", help="Of a room: the language to pass on; by default its first.")
    ] = None,
    hold: Annotated[
        float, typer.Option(min=0, max=30, help="Seconds that each word waits for an operator's correction.")
    ] = 0.0,
) -> None:
    """Pass captions of a running session on: to YouTube Live, to Zoom, or as a track for HLS."""
    import asyncio

    from turia.commands.posting import Poster, secret_address
    from turia.commands.relay import CaptionRelay, HlsTrack, place_of, run
    from turia.formats.caption_posts import YouTubeCaptions, ZoomCaptions

    place = place_of(session, server)
    check_address("--server", place.server)
    if hls is not None and place.is_room:
        raise InputError("--hls: expected a session; a room shows several, and each has a clock of its own")
    if language is not None and not place.is_room:
        raise InputError("--language is for rooms; each language has a session of its own: give its name")
    to_youtube, to_zoom = secret_address("youtube", youtube), secret_address("zoom", zoom)
    if to_youtube is None and to_zoom is None and hls is None:
        raise InputError("nowhere to relay to: give --youtube FILE, --zoom FILE or --hls FOLDER")

    async def pass_on() -> int:
        captions, pieces = YouTubeCaptions(), ZoomCaptions()
        numbers = None if youtube is None else youtube.with_name(f"{youtube.name}.seq")
        youtube_poster = None if to_youtube is None else Poster("youtube", to_youtube, captions, numbers)
        zoom_poster = None if to_zoom is None else Poster("zoom", to_zoom, pieces)

        def begin() -> CaptionRelay:
            return CaptionRelay(
                side,
                None if youtube_poster is None else (youtube_poster, captions),
                None if zoom_poster is None else (zoom_poster, pieces),
                None if hls is None else HlsTrack(hls, mpegts),
                hold=hold,
            )

        posters = [poster for poster in (youtube_poster, zoom_poster) if poster is not None]
        return await run(place, posters, begin, language)

    if signal := asyncio.run(pass_on()):
        raise Stopped(signal)


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace, or the recording of a session.")],
    speed: Annotated[float, typer.Option(min=0.01, max=1000, help="Playback speed: 2 is twice as fast.")] = 1.0,
    side: Annotated[
        Literal["target", "source"], typer.Option(help="The translation, or what was spoken (recordings have it).")
    ] = "target",
    as_written: Annotated[
        bool, typer.Option("--as-written", help="Print every word as it was written, whatever an operator has changed.")
    ] = False,
    page: Annotated[bool, typer.Option("--page", help="Replay on a page, with pause and speed.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --page: the port; 0 takes a free one.")] = 0,
) -> None:
    """Show again what was recorded, at its times."""
    from turia.commands.replay import read_moments, serve_page
    from turia.commands.replay import replay as run

    # A file that cannot be replayed is refused before anything is shown.
    played = read_moments(trace)
    if page:
        serve_page(trace, speed, port)
    else:
        run(played, sys.stdout, speed, side, as_written)
