import type { FolderAccount } from './account.ts';

const HEAD = [
  'folder',
  'mutants',
  'judged',
  'killed',
  'timed out',
  'survived',
  'not reached',
  'explained',
  'sentences',
  'killed %',
  'score %',
];

export function tableOf(accounts: readonly FolderAccount[]): string {
  const rows = [HEAD, ...accounts.map(cells)];
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0, column === 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const pad = (cell: string, width: number, isName: boolean): string =>
  isName ? cell.padEnd(width) : cell.padStart(width);

const cells = (account: FolderAccount): readonly string[] => [
  account.folder,
  ...[
    account.mutants,
    account.sample,
    account.killed,
    account.timedOut,
    account.survived,
    account.notReached,
    account.explained,
    account.sentences,
  ].map(String),
  account.killedPercent.toFixed(1),
  account.scorePercent.toFixed(1),
];
