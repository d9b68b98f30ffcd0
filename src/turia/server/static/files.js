// What is spoken in a file that somebody chose: all of a plain text, and the words of subtitles (SRT and WebVTT, read as
// turia.formats.subtitle_feed reads them, without their times). What is neither is refused, with the reason.

import { wordsOf } from "./sources.js";

const STAMP = String.raw`(?:\d{1,6}:)?\d{1,2}:\d{1,2}[.,]\d{1,3}`;
const TIMES = new RegExp(String.raw`^\s*${STAMP}\s+-->\s+${STAMP}(?:\s|$)`);
const NO_CUE = /^(WEBVTT|NOTE|STYLE|REGION)(\s|$)/;
const TAG = /<\/?[a-zA-Z\d][^>]*>|\{\\[^}]*\}/g;
// With which subtitles mark that somebody else speaks.
const DASHES = /^\s*[-–—]\s*/gm;
// What is text to a computer, but not what somebody says.
const REFUSED = [
  [/^\s*(\{|\[\s*\{)\s*"/, "is JSON; send what a recogniser wrote with turia send --input-format"],
  [/^\s*(-?\d+(\.\d+)? ){2}[^\n]*\n\s*(-?\d+(\.\d+)? ){2}/, "has times in it; send it with turia send --input-format whisper"],
  [/^\s*\[Script Info\]/i, "has subtitles of a kind that is not read here; save them as SRT or VTT"],
  [/^\s*<(\?xml|!doctype|html|tt)\b/i, "has markup in it; save the text alone"],
  [/^\s*\{\\rtf/, "is a document with formatting; save it as plain text"],
];

// The text of a file, or an error that says why it is none.
export async function textOf(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  // A text in UTF-16 begins with a mark; without one, a zero is of a picture or a program.
  const utf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (bytes.includes(0) && !utf16) throw new Error(`${file.name} is not a text file`);
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not text in UTF-8; save it as UTF-8`);
  }
  for (const [sign, reason] of REFUSED) {
    if (sign.test(text)) throw new Error(`${file.name} ${reason}`);
  }
  const said = spokenIn(text, file.name);
  if (!wordsOf(said).length) throw new Error(`${file.name} has no words`);
  return said;
}

function spokenIn(text, name) {
  const blocks = text.replace(/\r\n?/g, "\n").split(/\n\s*\n/).map((block) => block.trim().split("\n"));
  const isVtt = /^WEBVTT(\s|$)/.test(blocks[0][0]);
  if (!isVtt && !/\.(srt|vtt)$/i.test(name) && timesOf(blocks[0]) < 0) return text;
  return blocks.map((block) => spokenInBlock(block, isVtt, name)).join("\n");
}

// The line with the times of a cue. Its number, or its name, may stand before.
function timesOf(block) {
  return block.slice(0, 2).findIndex((line) => TIMES.test(line));
}

function spokenInBlock(block, isVtt, name) {
  const at = timesOf(block);
  // A number alone is that of a cue without text.
  if ((isVtt && NO_CUE.test(block[0])) || (block.length === 1 && /^\d*$/.test(block[0]))) return "";
  if (at < 0) throw new Error(`${name}: expected a cue (number, times, text) where it says “${block[0].slice(0, 40)}”`);
  const plain = block.slice(at + 1).join("\n").replace(DASHES, "").replace(TAG, "");
  return isVtt ? unescaped(plain) : plain;
}

// &amp; and others, by a document that nobody sees.
function unescaped(text) {
  return new DOMParser().parseFromString(text.replaceAll("<", "&lt;"), "text/html").body.textContent;
}
