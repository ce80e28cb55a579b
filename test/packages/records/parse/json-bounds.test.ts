import fc from 'fast-check';
import { expect, test } from 'vitest';
import { exceededBound } from '../../../../packages/records/parse/json-bounds.ts';

/** What the scan should count, told from the parsed value. */
function measure(value: unknown): { readonly depth: number; readonly elements: number } {
  if (typeof value !== 'object' || value === null) return { depth: 0, elements: 0 };
  const inner = Object.values(value).map(measure);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    elements: inner.reduce((sum, { elements }) => sum + elements, Math.max(1, inner.length)),
  };
}

const anyJson = fc
  .json({ stringUnit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', 'a') })
  .chain((text) => fc.constantFrom(text, JSON.stringify(JSON.parse(text), null, 2)));

test('what is as large as the bounds passes, and what is one larger does not', () => {
  fc.assert(
    fc.property(anyJson, (text) => {
      const { depth, elements } = measure(JSON.parse(text));
      expect(exceededBound(text, { depth, elements })).toBeNull();
      if (depth === 0) return;
      expect(exceededBound(text, { depth: depth - 1, elements })).toBe('depth');
      expect(exceededBound(text, { depth, elements: elements - 1 })).toBe('elements');
    }),
  );
});

test('any text is told about, JSON or not', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect([null, 'depth', 'elements']).toContain(exceededBound(text, { depth: 1, elements: 1 }));
    }),
  );
});

test('a bracket in a text is none, also after an escaped quote', () => {
  const bounds = { depth: 1, elements: 1 };
  expect(exceededBound('["[[,,"]', bounds)).toBeNull();
  expect(exceededBound('["\\"[[,,"]', bounds)).toBeNull();
  expect(exceededBound('["\\\\",[]]', { depth: 1, elements: 9 })).toBe('depth');
});

test('a text that never ends is looked at once', () => {
  expect(exceededBound(`["${'\\"'.repeat(500_000)}`, { depth: 1, elements: 1 })).toBeNull();
});
