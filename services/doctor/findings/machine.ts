import type { LockHolder } from '../../../packages/machine/lock-holders.ts';
import { LOW_STATE_BYTES } from '../../../packages/machine/state-space.ts';
import { counted } from '../../../packages/text/counted.ts';
import { sizeText } from '../../../packages/text/size-text.ts';
import type { LocalFileOption } from '../../node/executor/local/follow-local-rules.ts';
import type { LocalRules } from '../../node/executor/local/local-file.ts';
import { type OtherRemover, removerText } from '../../node/other-removers.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from '../finding.ts';

export const userFinding = (uid: number | null): Finding =>
  uid === null || uid === 0
    ? ok('root')
    : warning(
        `user ${uid}`,
        'The node runs as root. Run this with sudo, or what follows may only be missing rights.',
      );

export interface NameFacts {
  readonly cluster: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
}

export function nameFinding(name: Looked<NameFacts>): Finding {
  if (!name.ok) return problem(name.error.message, 'The node does not start so: correct these settings.');
  const { cluster, node, labels } = name.value;
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return ok(`${cluster}/${node}, ${pairs.length === 0 ? 'without labels' : `labels ${pairs.join(', ')}`}`);
}

export const machineIdFinding = (file: string, id: Looked<string>): Finding =>
  id.ok
    ? ok(`${file} holds one`)
    : problem(
        id.error.message,
        'The node does not start without one: it tells this machine from a copy of its disk. See --machine-id-file.',
      );

export interface DirectoryFacts {
  readonly path: string;
  readonly state: 'usable' | 'missing' | 'no-directory' | 'not-writable' | 'not-readable';
  /** What the system says of a directory that cannot be read or written. */
  readonly why?: string;
}

export function podLogsFinding(directories: readonly DirectoryFacts[]): Finding {
  const wrong = directories.filter(({ state }) => state !== 'usable' && state !== 'not-writable');
  const paths = directories.map(({ path }) => path).join(' and ');
  if (wrong.length === 0) return ok(`${paths} can be read`);
  return warning(
    wrong.map(stateText).join('; '),
    'Where no kubelet runs that is as it should be. Else name the directories of its configuration with --pod-logs-dir and --container-logs-dir.',
  );
}

const stateText = ({ path, state, why }: DirectoryFacts): string =>
  `${path} ${STATES[state]}${why === undefined ? '' : `: ${why}`}`;

const STATES: Readonly<Record<DirectoryFacts['state'], string>> = {
  usable: 'can be used',
  missing: 'is not there',
  'no-directory': 'is no directory',
  'not-writable': 'cannot be written',
  'not-readable': 'cannot be read',
};

export interface StateFacts extends DirectoryFacts {
  /** Of its filesystem; `null` where it cannot be measured. */
  readonly availableBytes: bigint | null;
  readonly files: number;
  /** The history of images, which the agent keeps. */
  readonly history: Looked<unknown>;
}

/** What the files of a node take, and what "fleetgc run" needs beside them. */
const LEAST_BYTES = 10_000_000n;
const ROOM_BYTES = 50_000_000n;

export function stateDirectoryFinding(facts: StateFacts): Finding {
  const { path, state, availableBytes, files, history } = facts;
  if (state === 'missing')
    return warning(
      `${path} is not there`,
      'The first start makes it. If FleetGC has run here, --state-directory names another place.',
    );
  if (state !== 'usable')
    return problem(
      stateText(facts),
      'The node has to read and write it: run it as root, or name another place with --state-directory.',
    );
  if (!history.ok)
    return problem(
      history.error.message,
      'docs/operating/troubleshoot.md#the-state-directory-is-lost-or-unreadable says what to do.',
    );
  const room = availableBytes === null ? 'of unknown room' : `${sizeText(availableBytes)} available`;
  const seen = `${path}, ${counted(files, 'file')}, ${room}`;
  if (availableBytes !== null && files === 0 && availableBytes < LEAST_BYTES)
    return problem(
      seen,
      'The first start needs 10 MB there: make room, or name another place with --state-directory.',
    );
  if (availableBytes !== null && availableBytes < ROOM_BYTES)
    return warning(
      seen,
      'Make room there: "fleetgc run" needs 50 MB, and what does not fit is not remembered over a restart.',
    );
  if (availableBytes !== null && availableBytes < BigInt(LOW_STATE_BYTES))
    return warning(
      seen,
      'Make room there before it is full: then nothing new is remembered over a restart, and the event log of "fleetgc run" loses its oldest records.',
    );
  return ok(seen);
}

interface LockFacts {
  readonly holders: Looked<readonly LockHolder[]>;
  /** Who removes through the same runtime with another state directory. */
  readonly others: readonly OtherRemover[];
}

export function stateLockFinding(path: string, { holders, others }: LockFacts): Finding {
  if (!holders.ok) return skipped(`Who holds the locks cannot be seen: ${holders.error.message}`);
  const roles = (['agent', 'executor'] as const).map((role) => ({
    role,
    holder: holders.value.find((each) => each.role === role),
  }));
  const seen = [
    ...roles.map(
      ({ role, holder }) =>
        `${role}: ${holder === undefined ? 'nobody' : `process ${holder.pid} ${holder.command}`.trim()}`,
    ),
    ...others.map((other) => `another executor on this runtime: process ${removerText(other)}`),
  ].join('; ');
  if (others.length > 0)
    return warning(
      seen,
      `Run one executor for each container runtime: neither knows what the other removed. If the other one is meant, give its --state-directory here in place of ${path}.`,
    );
  if (roles.every(({ holder }) => holder !== undefined)) return ok(seen);
  return warning(
    seen,
    `No process works with ${path} in that role, as far as this one can see. If FleetGC is to run here, start it (fleetgc node, or fleetgc run); in a container of its own it may be hidden from here.`,
  );
}

/** `rules`: `null` where there is no file. */
export function localFileFinding({ path, isNamed }: LocalFileOption, rules: LocalRules | null): Finding {
  if (rules === null)
    return isNamed
      ? problem(
          `${path} is named by --local-file and is missing`,
          'Put it back, or write {} into it: until then nothing is removed here.',
        )
      : ok(`there is no ${path}, so the node restricts nothing`);
  if (rules.kind === 'held')
    return problem(rules.message, 'Nothing is removed here until that is corrected.');
  if (rules.hold)
    return warning(`${path} says hold: true`, 'Nothing is removed here until it says hold: false.');
  const limits = [
    ...(rules.keepPatterns.length === 0
      ? []
      : [counted(rules.keepPatterns.length, 'pattern of images that stay', 'patterns of images that stay')]),
    ...(rules.maxRemovalsPerHour === null
      ? []
      : [`at most ${counted(rules.maxRemovalsPerHour, 'removal')} an hour`]),
  ];
  return ok(`${path}: ${limits.length === 0 ? 'restricts nothing' : limits.join(', ')}`);
}
