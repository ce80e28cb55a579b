import { expect, test } from 'vitest';
import { NO_LOCAL_RULES, parseLocalRules } from '../../../../services/node/executor/local-rules.ts';

test.each([
  { name: 'hold', text: 'hold: true', rules: { hold: true } },
  { name: 'a limit', text: 'maxRemovalsPerHour: 10', rules: { maxRemovalsPerHour: 10 } },
  { name: 'a limit of 0', text: 'maxRemovalsPerHour: 0', rules: { maxRemovalsPerHour: 0 } },
  {
    name: 'patterns',
    text: 'keepPatterns:\n- registry.example/*\n',
    rules: { keepPatterns: ['registry.example/*'] },
  },
  { name: 'nothing that restricts', text: '{}', rules: {} },
  { name: 'comments', text: '# ours\nhold: false # not now\n', rules: {} },
])('a file with $name restricts just that', ({ text, rules }) => {
  expect(parseLocalRules('f', text)).toEqual({ ...NO_LOCAL_RULES, ...rules });
});

test.each([
  { name: 'empty', text: '' },
  { name: 'only comments', text: '# hold: true\n' },
  { name: 'no YAML', text: 'hold: [true' },
  { name: 'two documents', text: 'hold: false\n---\nhold: true\n' },
  { name: 'the same key twice', text: 'hold: true\nhold: false\n' },
  { name: 'an unknown key', text: 'holds: true\n' },
  { name: 'a word where true or false belongs', text: 'hold: yes\n' },
  { name: 'a negative limit', text: 'maxRemovalsPerHour: -1\n' },
  { name: 'half a removal', text: 'maxRemovalsPerHour: 0.5\n' },
  { name: 'a pattern that is empty', text: 'keepPatterns: [""]\n' },
  { name: 'a list', text: '- hold\n' },
  // To write these keys as text takes half a minute.
  { name: 'maps as keys of maps', text: `${'{'.repeat(500)}${'}'.repeat(500)}\n` },
  { name: 'lists within lists', text: `${'- '.repeat(9_999)}a\nhold: true\n` },
])('a file with $name holds everything, and says why', ({ text }) => {
  expect(parseLocalRules('/etc/fleetgc/node.yaml', text)).toEqual({
    kind: 'held',
    message: expect.stringContaining('/etc/fleetgc/node.yaml'),
  });
});

test.each([
  { text: 'hold: tru\n', says: 'hold must be true or false' },
  {
    text: 'a:\n'.repeat(10_001),
    says: 'it has more than the 10000 colons, commas and question marks that are read, each of which may end a key',
  },
  { text: 'maxRemovalsPerHour: -1\n', says: 'maxRemovalsPerHour must be a whole number, 0 or more, or null' },
  { text: 'keepPatterns: registry.example/*\n', says: 'keepPatterns must be a list of patterns' },
  { text: 'keepPatterns: [a, ""]\n', says: 'keepPatterns[1] must be a pattern' },
  { text: 'holds: true\n', says: 'there is no setting holds, only keepPatterns, maxRemovalsPerHour, hold' },
  {
    text: 'hold: 1\nother: 2\n',
    says: 'hold must be true or false; there is no setting other, only keepPatterns, maxRemovalsPerHour, hold',
  },
  { text: '- hold\n', says: 'the file must be settings, as in "hold: true"' },
  {
    text: 'hold: [true\n',
    says: 'Flow sequence in block collection must be sufficiently indented and end with a ] at line 2, column 1',
  },
])('what is wrong is said in one line of plain words: $says', ({ text, says }) => {
  expect(parseLocalRules('f', text)).toEqual({
    kind: 'held',
    message: `the node's own file f holds everything because it cannot be understood: ${says}`,
  });
});
