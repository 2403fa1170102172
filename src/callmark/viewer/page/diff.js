// The differences between two texts. In: two strings; out: the pieces of each as [text, differs].
// Work is bounded: long texts are compared word by word, and a middle that is still too large is marked as a whole.

const MAX_BY_CHARACTER = 120; // longer texts are compared by word
const MAX_CELLS = 250_000; // of the table of the longest common subsequence
const MIN_SHARED = 0.4; // of the characters: with fewer, marks inside the text would be noise
const MAX_COMPARED = 20_000; // characters of each text that are compared and shown

export function differences(expected, actual) {
  const [left, right] = [expected.slice(0, MAX_COMPARED), actual.slice(0, MAX_COMPARED)];
  if (left === right) return [[[left, expected.length !== actual.length]], [[right, expected.length !== actual.length]]];
  const byCharacter = Math.max(left.length, right.length) <= MAX_BY_CHARACTER ? [...left].length + [...right].length : 0;
  const [a, b] = byCharacter ? [[...left], [...right]] : [splitWords(left), splitWords(right)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const [inA, inB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const shared = inA.length * inB.length <= MAX_CELLS ? commonSubsequence(inA, inB) : { a: new Set(), b: new Set() };
  const sharedLength = totalLength(a.slice(0, start)) + totalLength(a.slice(a.length - end)) + totalLength([...shared.a].map((at) => inA[at]));
  if (byCharacter && sharedLength < MIN_SHARED * Math.max(left.length, right.length)) return [[[left, true]], [[right, true]]];
  return [pieces(a, start, end, shared.a), pieces(b, start, end, shared.b)];
}

function splitWords(text) {
  return text.match(/\w+|\s+|[^\w\s]/gu) ?? [];
}

function totalLength(parts) {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

// The indexes of a longest common subsequence on both sides.
function commonSubsequence(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * width + j;
      table[at] = a[i] === b[j] ? table[at + width + 1] + 1 : Math.max(table[at + width], table[at + 1]);
    }
  }
  const found = { a: new Set(), b: new Set() };
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      found.a.add(i++);
      found.b.add(j++);
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function pieces(parts, start, end, shared) {
  const out = [];
  parts.forEach((part, at) => {
    const differs = at >= start && at < parts.length - end && !shared.has(at - start);
    const last = out[out.length - 1];
    if (last && last[1] === differs) last[0] += part;
    else out.push([part, differs]);
  });
  return out;
}
