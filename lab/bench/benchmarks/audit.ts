import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Findings } from '../figure.ts';
import {
  DISK_STATS_EVERY_MS,
  HOUR_MS,
  INVENTORY_EVERY_MS,
  type MonthSize,
  WHOLE_MONTH,
} from '../month/month.ts';
import { type WrittenMonth, writeMonth } from '../month/write-month.ts';
import { archiveFigures } from './audit/archive.ts';
import { recordFigures } from './audit/record.ts';
import { verifyFigures } from './audit/verify.ts';

/** The audit verbs on a synthetic month of a fleet. */
export async function benchAudit(size: MonthSize = WHOLE_MONTH): Promise<Findings> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  try {
    const path = join(directory, 'month.db');
    const month = await writeMonth(path, size);
    return {
      figures: [
        ...recordFigures(),
        ...(await verifyFigures(path, month)),
        ...(await archiveFigures(path, join(directory, 'archive'), month)),
      ],
      notes: notesOn(month),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const notesOn = ({ seed, nodes, days, records, bytes }: WrittenMonth): readonly string[] => [
  `A synthetic month: ${nodes} nodes, ${days} days, seed ${seed}: ${records} records, ${Math.round(bytes / 1e6)} MB. It is thinner than a real one: an inventory every ${INVENTORY_EVERY_MS / HOUR_MS} hours and on order (in place of 5 minutes), of 10 to 50 images; disk statistics every ${DISK_STATS_EVERY_MS / HOUR_MS} hours (in place of a minute). Its decisions are made by the deciders themselves.`,
  'verify is timed on the last days of it, read from an embedded log in as many threads as the baseline, which parses and checks each record. Memory is the largest resident set.',
  'explain reads an archive of the whole month. Times include the start of the program.',
];
