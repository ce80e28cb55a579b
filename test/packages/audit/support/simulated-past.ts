import { expect } from 'vitest';
import { newestDeciders } from '../../../../packages/audit/simulate/compare.ts';
import { simulate } from '../../../../packages/audit/simulate/simulate.ts';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import { policySet } from '../../../../packages/decision/policy-set.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogReader, LogRecord } from '../../../../packages/log/port.ts';
import type { DiskStats } from '../../../../schemas/events/disk-stats.ts';
import type { CompleteInventory, InventoryImage } from '../../../../schemas/events/inventory.ts';
import type { ObjectResult } from '../../../../schemas/events/result.ts';
import type { Policy, PolicySet } from '../../../../schemas/policy/policy.ts';
import { AuditSimulation } from '../../../../schemas/reports/audit-simulation.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { objectResult } from '../../../fixtures/results.ts';
import { HOUR, instant, MINUTE, NOW } from '../../../fixtures/time.ts';
import { onLog, outgoing } from '../../../support/logs/log-record.ts';
import { logOf } from './archives.ts';

/** Usage thresholds alone, and images may go however young they are. */
export const policies = (overrides: Partial<Policy> = {}): PolicySet =>
  policySet('node', [appliedPolicy({ evictionThresholds: [], imageMinimumGCAgeMs: 0, ...overrides })], []);

/** Images of 100 bytes on a disk of 1000, `a` least recently used, then `b`, and so on. */
export const hundred = (id: string, overrides: Partial<InventoryImage> = {}): InventoryImage =>
  image(id, { sizeBytes: 100, lastUsedMs: NOW - 5 * HOUR + id.charCodeAt(0), ...overrides });

export const at = (minute: number) =>
  instant({ wallTimeMs: NOW + minute * MINUTE, sinceBootMs: 24 * HOUR + minute * MINUTE });

export interface Look {
  readonly minute: number;
  readonly images: readonly (string | InventoryImage)[];
  readonly available: number;
  readonly over?: Partial<CompleteInventory>;
}

/** What went, in which minute, and what was available on imagefs before and after. */
export type Went = readonly [
  object: string | ObjectResult['object'],
  minute: number,
  before: number,
  after: number,
];

export interface Past {
  readonly looks: readonly Look[];
  readonly went?: readonly Went[];
  readonly stats?: readonly { readonly minute: number; readonly over: Partial<DiskStats> }[];
  readonly others?: readonly { readonly minute: number; readonly output: Output }[];
}

const lookOutput = ({ minute, images, available, over }: Look): Output =>
  nodeOutput(
    'inventory',
    inventory({
      id: `i${minute}-${over?.node ?? ''}`,
      takenAt: at(minute),
      images: images.map((each) => (typeof each === 'string' ? hundred(each) : each)),
      filesystems: filesystems({ availableBytes: String(available) }),
      ...over,
    }),
  );

const wentOutput = ([object, minute, before, after]: Went): Output => {
  const named = typeof object === 'string' ? ({ kind: 'image', id: object } as const) : object;
  return nodeOutput(
    'results',
    objectResult({
      id: `r-${named.id}-${minute}`,
      at: at(minute),
      object: named,
      result: {
        outcome: 'removed',
        measured: { filesystem: 'imagefs', beforeBytes: String(before), afterBytes: String(after) },
        estimatedBytes: null,
        durationMs: 5,
      },
    }),
  );
};

/** A log on which a node had this past. */
export function recorded({ looks, went = [], stats = [], others = [] }: Past): LogReader {
  const outputs = [
    ...looks.map((look) => ({ minute: look.minute, output: lookOutput(look) })),
    ...went.map((result) => ({ minute: result[1], output: wentOutput(result) })),
    ...stats.map(({ minute, over }) => ({
      minute,
      output: nodeOutput('diskStats', diskStats({}, { id: `s${minute}`, takenAt: at(minute), ...over })),
    })),
    ...others,
  ].toSorted((a, b) => a.minute - b.minute);
  return logOf(outputs.map(({ minute, output }, index) => recordAt(minute, output, index)));
}

function recordAt(minute: number, output: Output, index: number): LogRecord {
  const record = outgoing(output);
  const partition = partitionOf(record.topic, record.key);
  return onLog(record, { partition, offset: BigInt(index), timestampMs: NOW + minute * MINUTE });
}

export type Given = Partial<Parameters<typeof simulate>[0]['comparison']> & { readonly policy: PolicySet };

/** Runs policies over it, and compares them with what happened unless something else is given. */
export async function simulated(log: LogReader, given: Given): Promise<AuditSimulation> {
  const comparison = { against: null, regretWindowMs: HOUR, deciders: await newestDeciders(), ...given };
  const needs = { log, comparison, range: { fromMs: null, toMs: null } };
  const simulation = await simulate(
    { ...needs, isWanted: () => true, onProgress: () => undefined },
    new AbortController().signal,
  );
  expect(AuditSimulation.parse(simulation)).toEqual(simulation);
  return simulation;
}
