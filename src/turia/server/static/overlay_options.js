// The options of the overlay, in its address (docs/server.md). What is wrong is an error: on air nobody guesses.

const one = (...allowed) => ({ expected: allowed.join(", "), takes: (text) => allowed.includes(text) });
const whole = (least, most) => ({
  expected: `a whole number from ${least} to ${most}`,
  takes: (text) => /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most,
});
const colour = {
  expected: "a colour such as ffe14d, or 000000b3 with how dense it is",
  takes: (text) => /^([0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})$/i.test(text),
};

const OPTIONS = {
  lines: whole(1, 10),
  size: whole(8, 200),
  color: colour,
  background: colour,
  position: one("top", "middle", "bottom"),
  align: one("left", "center", "right"),
  language: { expected: "target, source, or a code such as en", takes: (text) => /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(text) },
  notice: { expected: "at most 200 letters", takes: (text) => text.length <= 200 },
  "notice-position": one("top", "bottom"),
};

// Of `search`, which is what stands behind the question mark.
export function overlayOptions(search) {
  const options = {};
  for (const [name, text] of new URLSearchParams(search)) {
    const option = Object.hasOwn(OPTIONS, name) ? OPTIONS[name] : null;
    if (!option) throw new Error(`${name}: no such option; there are ${Object.keys(OPTIONS).join(", ")}`);
    if (!option.takes(text)) throw new Error(`${name}=${text}: expected ${option.expected}`);
    options[name] = text;
  }
  return options;
}
