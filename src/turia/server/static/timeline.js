// A trace or a recording as moments: events and their seconds, as turia/formats/replay.py has them. No document in here.

const READS = 1;

function parsed(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  return lines.map((line, i) => {
    try {
      return JSON.parse(line);
    } catch {
      throw new Error(`This is no trace and no recording: line ${i + 1} is not JSON`);
    }
  });
}

// `beginning` is the second of the session at the first word, which is played at 0.
export function timeline(text) {
  const [header, ...events] = parsed(text);
  if (!["stream", "recording"].includes(header?.type)) throw new Error("This is no trace and no recording");
  if (header.version !== READS) throw new Error(`Of version ${header.version}; this page reads ${READS}`);
  const writes = events.filter((event) => event.type === "write");
  const isTrace = header.type === "stream";
  const bySpeech = isTrace && writes.length > 0 && writes.every((event) => event.read_seconds !== undefined);
  let seconds = 0;
  const held = events.map((event) => {
    const own = bySpeech ? event.read_seconds : event.ms !== undefined ? event.ms / 1000 : undefined;
    if (own === undefined && isTrace && event.type === "write") throw new Error(`Word ${event.index} has no time`);
    seconds = Math.max(seconds, own ?? 0);
    return { seconds, event };
  });
  if (isTrace && header.model) {
    // A trace says its settings in its first line.
    held.unshift({ seconds: 0, event: { ...header, type: "settings", gamma: header.gamma ?? 1 } });
  }
  const beginning = held.find(({ event }) => event.word !== undefined)?.seconds ?? 0;
  const moments = held.map((moment) => ({
    seconds: Math.max(0, Math.round(1000 * (moment.seconds - beginning)) / 1000),
    event: moment.event,
  }));
  return { moments, beginning, hasSource: events.some((event) => event.type === "source") };
}
