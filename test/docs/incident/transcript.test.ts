import { expect, test } from 'vitest';
import { commandsUnder, type Ids, isAsShown, translated } from './transcript.ts';

const idOf = (digit: string): string => digit.repeat(32);
const [A, B, C, D] = [idOf('a'), idOf('b'), idOf('c'), idOf('d')];

const PAGE = `## First

\`\`\`
$ one \\
    more
# a heading that was printed
## First
$ two
\`\`\`

## Second

\`\`\`
no command
\`\`\`
`;

test('commands are those of one heading, each with its output', () => {
  expect(commandsUnder(PAGE, 'First')).toEqual([
    { command: 'one \\\n    more', output: '# a heading that was printed\n## First\n' },
    { command: 'two', output: '' },
  ]);
  expect(() => commandsUnder(PAGE, 'Second')).toThrow('shows no command under Second');
});

test('ids, times and numbers may differ, and lines may break elsewhere', () => {
  const shown = `revoked: ${A}; since 2026-11-25T10:41:34Z,\n 3 records (all)`;
  const ids: Ids = new Map();
  expect(isAsShown(shown, `revoked: ${B}; since 2027-01-01T00:00:00Z, 1 record (all)\n`, ids)).toBe(true);
  expect(translated(`keys revoke ${A}`, ids)).toBe(`keys revoke ${B}`);
});

test('other words are other words, and what is left out is said to be', () => {
  const ids: Ids = new Map();
  expect(isAsShown('refused: in-use', 'removed: in-use', ids)).toBe(false);
  expect(isAsShown('first\nlast', 'first\nmiddle\nlast', ids)).toBe(false);
  expect(isAsShown('first\n…\nlast', 'first\nmiddle\nlast', ids)).toBe(true);
  expect(isAsShown('first', 'first and more', ids)).toBe(false);
  expect(isAsShown(`by ${A}`, 'by nobody', ids)).toBe(false);
});

test('keys stand in the order of their ids', () => {
  const ids: Ids = new Map();
  expect(isAsShown(`KEY\n${A} root\n${B} ops`, `KEY\n${C} ops\n${D} root\n`, ids)).toBe(true);
  expect(ids.get(A)).toBe(D);
  expect(ids.get(B)).toBe(C);
});
