import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ServerTime } from '../../../packages/kube-api/server-clock.ts';
import { unreadableReason } from '../../../packages/process/options/named-file.ts';
import { yamlValueOf } from '../../../packages/process/options/yaml.ts';
import {
  ageRefusal,
  otherInstance,
  otherPolicy,
  pausedRefusal,
  type Refused,
} from '../../../packages/records/commands.ts';
import type { ClusterAction, ClusterCommand } from '../../../schemas/events/cluster-command.ts';
import type { ClusterCommandRefusal } from '../../../schemas/events/cluster-result.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import type { Collector } from '../../../schemas/policy/cluster-policy.ts';
import type { ClusterPolicyInForce } from './ports.ts';

export type CommandRefused = Refused<ClusterCommandRefusal>;

/** What a command as a whole is checked against. */
interface CommandCircumstances {
  readonly identity: ClusterIdentity;
  readonly time: ServerTime | null;
  readonly inForce: ClusterPolicyInForce;
}

/** Why nothing of a command is done. Where policies cannot be read it waits until they can. */
export function commandRefusal(
  command: ClusterCommand,
  { identity, time, inForce }: CommandCircumstances,
): CommandRefused | null {
  const permitted = policyFor(command, inForce);
  return (
    otherInstance('cluster', command.clusterInstance, identity.clusterInstance) ??
    doubledObject(command) ??
    timeRefusal(command, time) ??
    ('reason' in permitted ? permitted : null)
  );
}

function doubledObject({ items }: ClusterCommand): CommandRefused | null {
  const uids = items.map(({ object }) => object.uid);
  const doubled = uids.length - new Set(uids).size;
  return doubled === 0
    ? null
    : { reason: 'malformed', message: `the command names ${doubled} of its objects more than once` };
}

/** By the API server's clock; `null` while nobody knows what it shows. */
export function timeRefusal(
  { takenAt, lifetimeMs }: Pick<ClusterCommand, 'takenAt' | 'lifetimeMs'>,
  time: ServerTime | null,
): CommandRefused | null {
  if (time === null) return null;
  const ageMs = time.latestMs - takenAt.serverMs;
  return ageRefusal(ageMs, { lifetimeMs, of: 'fact', by: " by the API server's clock" });
}

/** Whose work an action is where FleetGC does not do it; `null` where that follows from the object. */
const COLLECTOR_OF: Readonly<Record<ClusterAction['action'], Collector | null>> = {
  delete: 'garbage-collector-controller',
  'drop-references': 'garbage-collector-controller',
  finish: 'garbage-collector-controller',
  expire: null,
  'remove-pod': 'pod-garbage-collector-controller',
};

type PolicyInForce = Extract<ClusterPolicyInForce, { kind: 'policy' }>;

/** Nobody knows then what is in force: whether the cluster is paused, or another policy came. */
type Unreadable = Extract<ClusterPolicyInForce, { kind: 'unreadable' }>;

/** The policy in force, if it is that of the command and gives this work to FleetGC. */
export function policyFor(
  { policy: named, items }: Pick<ClusterCommand, 'policy' | 'items'>,
  inForce: ClusterPolicyInForce,
): PolicyInForce | CommandRefused | Unreadable {
  switch (inForce.kind) {
    case 'paused':
      return pausedRefusal(inForce.reason);
    case 'none':
      return { reason: 'policy-not-in-force', message: 'no policy selects this cluster now' };
    case 'unreadable':
      return inForce;
    case 'policy':
      return otherPolicy(named, inForce.record) ?? withItsWork(inForce, items);
  }
}

function withItsWork(inForce: PolicyInForce, items: ClusterCommand['items']): PolicyInForce | CommandRefused {
  const { name, mode, collectors } = inForce.record.policy;
  const reason = 'policy-not-in-force';
  if (mode === 'dry-run') return { reason, message: `policy ${name} says dry-run for this cluster` };
  const needed = items.map(({ act }) => COLLECTOR_OF[act.action]);
  const missing = needed.find((collector) => collector !== null && !collectors.includes(collector));
  return missing === undefined
    ? inForce
    : { reason, message: `policy ${name} does not give ${missing} to FleetGC` };
}

/** A larger file is no setting but a mistake. */
const MAX_BYTES = 65_536;

/** What the cluster's own people wrote. */
const LocalFile = z.strictObject({ hold: z.boolean({ error: 'must be true or false' }).default(false) });

/**
 * The file with which the cluster's own people hold everything, whatever policies and orders say. What is not certain holds: a file
 * that is not there, and one that nobody understands.
 */
export class LocalHold {
  readonly #path: string;
  readonly #logger: Pick<Logger, 'error' | 'info'>;
  #reported: string | null = null;

  constructor(path: string, logger: Pick<Logger, 'error' | 'info'>) {
    this.#path = path;
    this.#logger = logger;
  }

  /** Why nothing may be removed at this moment, in a sentence; `null` where it may. The log is told once of each reason. */
  objection(): string | null {
    const problem = problemIn(this.#path);
    const message = problem === null ? null : `${this.#path} holds everything: ${problem}`;
    if (message !== this.#reported) this.#report(message);
    return message;
  }

  #report(message: string | null): void {
    this.#reported = message;
    if (message === null) this.#logger.info(`${this.#path} holds nothing any more`);
    else this.#logger.error(message);
  }
}

function problemIn(path: string): string | null {
  const text = textIn(path);
  if ('problem' in text) return text.problem;
  const parsed = yamlValueOf(text.text);
  if (!parsed.ok) return parsed.problem;
  // Also what a file looks like that somebody is just writing.
  if (parsed.value === null) return 'it is empty; write "{}" where nothing is to be held';
  const rules = LocalFile.safeParse(parsed.value);
  if (!rules.success) return 'it can say "hold: true" or "hold: false", and nothing else';
  return rules.data.hold ? 'it says "hold: true"' : null;
}

function textIn(path: string): { readonly text: string } | { readonly problem: string } {
  let file: number | null = null;
  try {
    // A pipe that nobody writes to must not keep the executor waiting.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(file);
    if (!stat.isFile()) return { problem: 'it is no file' };
    if (stat.size > MAX_BYTES) return { problem: `it has more than ${MAX_BYTES} bytes` };
    return { text: readFileSync(file, 'utf8') };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return { problem: isMissing ? 'it is not there' : `it cannot be read: ${unreadableReason(error)}` };
  } finally {
    if (file !== null) closeSync(file);
  }
}
