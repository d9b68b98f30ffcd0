// What a page keeps in the browser. Some browsers keep nothing, and throw: such a page cannot go on after it is loaded
// again, or forgets a choice. All else works.
// `where` is "sessionStorage" (this tab) or "localStorage" (this browser).

export function store(name, value, where = "sessionStorage") {
  try {
    globalThis[where].setItem(name, value);
  } catch {
    // Nothing is kept.
  }
}

export function load(name, where = "sessionStorage") {
  try {
    return globalThis[where].getItem(name);
  } catch {
    return null;
  }
}

export function forget(name, where = "sessionStorage") {
  try {
    globalThis[where].removeItem(name);
  } catch {
    // There was nothing.
  }
}
