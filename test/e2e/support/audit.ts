import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka } from 'kafkajs';
import { expect } from 'vitest';
import { z } from 'zod';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { fleetgc } from '../../cli/fleetgc.ts';
import { kafkaSettings } from '../../support/kafka/kafka-answer.ts';
import type { Fleet } from './fleet/fleet.ts';

const Verified = z.object({
  counts: z.object({ decisions: z.int(), verified: z.int(), removals: z.int() }),
  deviations: z.object({ total: z.int() }),
});

/** Decides all again that this fleet has decided so far, and follows every command and removal. */
export async function expectVerified(fleet: Fleet): Promise<void> {
  const { counts, deviations } = Verified.parse(
    JSON.parse(await fleet.cli(['audit', 'verify', '-o', 'json'])),
  );
  expect(deviations.total).toBe(0);
  expect(counts.removals).toBeGreaterThan(0);
  expect(counts.verified).toBe(counts.decisions);
}

/** What became of an object, in the words that an operator reads. */
export const explained = (fleet: Fleet, name: string): Promise<string> =>
  fleet.cli(['audit', 'explain', name]);

/** Asks an archive, without any broker. */
export interface ArchivedFleet {
  readonly explain: (name: string) => Promise<string>;
  readonly check: () => Promise<string>;
}

/** Archives the log of the fleet. The archive outlives the test that made it, but not the process. */
export async function archived(fleet: Fleet): Promise<ArchivedFleet> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-archive-'));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  await fleet.cli(['audit', 'archive', '--to', directory]);
  const ask = async (asked: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await fleetgc(asked);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    return stdout;
  };
  return {
    explain: (name) => ask(['audit', 'explain', name, '--log', 'archive', '--archive', directory]),
    check: () => ask(['audit', 'archive', 'check', '--archive', directory]),
  };
}

/** Deletes every topic of the fleet's broker, with all that lies there. */
export async function deleteTopics({ broker }: Pick<Fleet, 'broker'>): Promise<void> {
  const admin = new Kafka(kafkaSettings({ address: broker.address })).admin();
  await admin.connect();
  try {
    await admin.deleteTopics({ topics: [...TOPIC_NAMES] });
    expect(await admin.listTopics()).not.toEqual(expect.arrayContaining([expect.stringMatching(/^gc\./)]));
  } finally {
    await admin.disconnect();
  }
}
