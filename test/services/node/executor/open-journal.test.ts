import { expect, test } from 'vitest';
import { createLogger } from '../../../../packages/process/logger.ts';
import { accepted, EMPTY_JOURNAL, openJournal } from '../../../../services/node/executor/journal.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { instant } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { diskFull, memoryState } from './support/memory-state.ts';

const now = instant();
const entry = {
  command: imageRemoval(['a'], { id: 'one' }),
  trace: null,
  signedBy: null,
  before: null,
  items: [{ state: 'waiting' as const }],
};
const opened = (directory = memoryState()) => {
  const lines = logLines();
  const logger = createLogger({ service: 'test', level: 'info' }, lines);
  return { directory, lines, journal: openJournal({ directory, now, logger }) };
};
const LOST = { at: now, commandId: '' };

test('a journal that cannot be read counts all that was decided before as overtaken, and the limit as reached', () => {
  const directory = memoryState();
  directory.files.set('journal', '{}');
  const { journal, lines } = opened(directory);
  expect(journal.state()).toEqual({
    ...EMPTY_JOURNAL,
    lastActions: {
      image: LOST,
      container: LOST,
      sandbox: LOST,
      'pod-log-directory': LOST,
      'log-symlink': LOST,
    },
    removalRate: { bootId: now.bootId, minutes: [], lostMinute: now.sinceBootMs / 60_000 },
  });
  expect(lines.lines.join()).toContain('journal lost');
  journal.update((state) => accepted(state, entry));
  expect([journal.kept(), directory.files.get('journal')]).toEqual(['disk', expect.stringContaining('one')]);
});

test('a directory that cannot be opened is opened again at the next change', () => {
  const directory = memoryState();
  const { open } = directory;
  directory.open = diskFull;
  const { journal, lines } = opened(directory);
  expect(journal.state().lastActions.image).toEqual(LOST);
  expect(lines.lines.join()).toContain('no space left on device');
  directory.open = open;
  journal.update((state) => accepted(state, entry));
  expect(journal.kept()).toBe('disk');
  const next = opened(directory);
  expect(next.journal.state().entries).toEqual([entry]);
  expect(next.lines.lines).toEqual([]);
});

test('while the disk takes nothing the journal is kept in memory, which is told once, with the reason', () => {
  const { directory, journal, lines } = opened();
  directory.beforeWrite = diskFull;
  for (let times = 0; times < 2; times++) journal.update((state) => accepted(state, entry));
  expect([journal.kept(), journal.state().entries.length]).toEqual(['memory', 2]);
  directory.beforeWrite = () => undefined;
  for (let times = 0; times < 2; times++) journal.update((state) => state);
  expect(journal.kept()).toBe('disk');
  const told = lines.lines;
  expect(told).toHaveLength(2);
  expect(told[0]).toContain('journal kept in memory');
  expect(told[0]).toContain('no space left on device');
  expect(told[1]).toContain('journal written to disk again');
});

test('whoever waits is woken by the next change, by the end, or at once where the end was before', async () => {
  const { journal } = opened();
  const end = new AbortController();
  const woken: string[] = [];
  const first = journal.changed(end.signal).then(() => woken.push('change'));
  journal.update((state) => state);
  await first;
  const second = journal.changed(end.signal).then(() => woken.push('end'));
  end.abort();
  await second;
  await journal.changed(end.signal);
  expect(woken).toEqual(['change', 'end']);
});

test('what is repaired is told, with the command that it is of', () => {
  const directory = memoryState();
  const entries = [entry, entry, { ...entry, command: { ...entry.command, id: 'two' }, items: [] }];
  directory.files.set('journal', JSON.stringify({ ...EMPTY_JOURNAL, entries }));
  const [doubled = '', short = '', ...others] = opened(directory).lines.lines;
  expect(JSON.parse(doubled)).toMatchObject({ commandId: 'one' });
  expect(JSON.parse(short)).toMatchObject({ commandId: 'two', objects: 1, known: 0 });
  expect(others).toEqual([]);
});
