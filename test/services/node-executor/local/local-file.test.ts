import { expect, test } from 'vitest';
import { NO_LOCAL_RULES, parseLocalRules } from '../../../../services/node-executor/local/local-file.ts';

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
])('a file with $name holds everything, and says why', ({ text }) => {
  expect(parseLocalRules('/etc/fleetgc/node.yaml', text)).toEqual({
    kind: 'held',
    message: expect.stringContaining('/etc/fleetgc/node.yaml'),
  });
});
