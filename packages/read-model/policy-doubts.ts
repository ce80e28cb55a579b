import type { Logger } from 'pino';
import { nodeKey, type SubjectKind } from '../../schemas/events/identity.ts';
import type { CompleteInventory } from '../../schemas/events/inventory.ts';
import { TOPICS } from '../../schemas/events/topics.ts';
import { hasUnreadableNames, keepMatcher } from '../../schemas/policy/image-pattern.ts';
import {
  isPolicyFor,
  type NodeSelector,
  type Policy,
  type PolicyKeep,
  type PolicyRecordOf,
  policyKey,
} from '../../schemas/policy/policy.ts';
import { selects } from '../../schemas/policy/policy-selection.ts';
import { TooCostly } from '../../schemas/policy/steps.ts';
import { namespaceOfLogDirectory } from '../decision/inventory-entries.ts';
import type { LogReader } from '../log/port.ts';
import { selectorText } from '../policy/selector-text.ts';
import { MINUTE_MS } from '../process/durations.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { parseRecord } from '../records/parse/parse-record.ts';
import { counted } from '../text/counted.ts';
import { nearestName } from '../text/nearest-name.ts';
import { readClusterNames } from './clusters.ts';
import { type ReportingNodesNeeds, readReportingNodes } from './reporting-nodes.ts';

type AnyPolicyRecord = PolicyRecordOf<SubjectKind>;

/** A policy as it holds now, and what stood under its name before. */
interface AppliedPolicy {
  readonly record: AnyPolicyRecord;
  readonly before: AnyPolicyRecord | null;
}

interface DoubtsNeeds {
  readonly log: LogReader;
  readonly logger: Pick<Logger, 'warn' | 'info'>;
}

/** Beyond that the question is no reason to wait. */
const LONGEST_MS = 5_000;
/** Each node takes an inventory every 5 min, and brokers or a node may be away for a moment. */
const INVENTORIES_MS = 15 * MINUTE_MS;

/**
 * Warns of selectors and of new keep entries that match nothing that the log tells of, which may be a typing error. Says nothing where
 * the log tells of no node or cluster at all. Never rejects: what was asked for is done already.
 */
export async function warnOfDoubts(
  applied: readonly AppliedPolicy[],
  { log, logger }: DoubtsNeeds,
  signal: AbortSignal,
): Promise<void> {
  using bounded = new LinkedController(signal, AbortSignal.timeout(LONGEST_MS));
  const reading = { log, nowMs: Date.now(), signal: bounded.signal };
  try {
    for (const doubt of await clusterDoubts(applied, reading)) logger.warn(doubt);
    const { doubts, selecting } = await nodeDoubts(applied, reading);
    for (const doubt of doubts) logger.warn(doubt);
    for (const doubt of await keepDoubts(selecting, reading)) logger.warn(doubt);
  } catch {
    if (!signal.aborted && bounded.signal.aborted) logger.info(NOT_CHECKED);
  }
}

const NOT_CHECKED =
  'Not checked within 5 s whether each selector and keep entry matches anything: fleetgc policy effective says so for one node.';

interface Reading {
  readonly log: LogReader;
  readonly nowMs: number;
  readonly signal: AbortSignal;
}

async function clusterDoubts(
  applied: readonly AppliedPolicy[],
  { log, nowMs, signal }: Reading,
): Promise<readonly string[]> {
  const narrow = applied
    .map(({ record }) => record)
    .filter((record) => isPolicyFor('cluster', record))
    .filter(({ policy }) => policy.selector.clusters.length > 0);
  if (narrow.length === 0) return [];
  const known = await readClusterNames(log, nowMs, signal);
  if (known.length === 0) return [];
  return narrow
    .filter(({ policy }) => !policy.selector.clusters.some((name) => known.includes(name)))
    .map(
      (record) =>
        `Policy ${policyKey(record)} matches no known cluster (cluster ${record.policy.selector.clusters.join(' or ')}). Check its selector. ${knownNamesText('cluster', known)}`,
    );
}

/** A policy that selects nodes, and what it kept before. */
interface Selecting {
  readonly key: string;
  readonly policy: Policy;
  readonly before: PolicyKeep | null;
}

async function nodeDoubts(
  applied: readonly AppliedPolicy[],
  { log, nowMs, signal }: Reading,
): Promise<{ readonly doubts: readonly string[]; readonly selecting: readonly Selecting[] }> {
  const policies = applied.flatMap(({ record, before }): Selecting[] =>
    isPolicyFor('node', record)
      ? [
          {
            key: policyKey(record),
            policy: record.policy,
            before: before !== null && isPolicyFor('node', before) ? before.policy.keep : null,
          },
        ]
      : [],
  );
  const narrow = policies.filter(({ policy }) => selectorText(policy.selector) !== 'all nodes');
  if (narrow.length === 0) return { doubts: [], selecting: policies };
  const { nodes } = await readReportingNodes({ log, nowMs, onProgress: () => {} }, signal);
  signal.throwIfAborted();
  const known = [...nodes.values()].map(({ stats }) => stats);
  const unselecting = new Set(
    known.length === 0
      ? []
      : narrow.filter(({ policy }) => !known.some((node) => selects(policy.selector, node))),
  );
  const names = known.map(nodeKey);
  return {
    doubts: [...unselecting].map(
      ({ key, policy }) =>
        `Policy ${key} matches no known node (${selectorText(policy.selector)}). Check its selector. ${knownNamesText('node', names)}`,
    ),
    selecting: policies.filter((policy) => !unselecting.has(policy)),
  };
}

/** New keep entries of one policy that nothing met so far. */
interface Unmet {
  readonly key: string;
  readonly policy: Policy;
  patterns: readonly string[];
  digests: readonly string[];
  labels: Readonly<Record<string, string>>;
  namespaces: readonly string[];
  nodes: number;
}

const newEntries = ({ key, policy, before }: Selecting): Unmet => ({
  key,
  policy,
  patterns: without(policy.keep.patterns, before?.patterns),
  digests: without(policy.keep.digests, before?.digests),
  labels: Object.fromEntries(
    Object.entries(policy.keep.labels).filter(([name, value]) => before?.labels[name] !== value),
  ),
  namespaces: without(policy.keep.namespaces, before?.namespaces),
  nodes: 0,
});

const without = (entries: readonly string[], known: readonly string[] = []): readonly string[] =>
  entries.filter((entry) => !known.includes(entry));

const isAnyUnmet = ({ patterns, digests, labels, namespaces }: Unmet): boolean =>
  patterns.length + digests.length + namespaces.length + Object.keys(labels).length > 0;

async function keepDoubts(
  selecting: readonly Selecting[],
  { log, nowMs, signal }: Reading,
): Promise<readonly string[]> {
  const unmet = selecting.map(newEntries).filter(isAnyUnmet);
  if (unmet.length === 0) return [];
  const names = new Names();
  const seen = new Set<string>();
  const request = {
    topic: TOPICS.inventory.name,
    from: { timestampMs: nowMs - INVENTORIES_MS },
    to: 'end',
  } as const;
  for await (const event of log.read(request, signal)) {
    if (event.kind !== 'record' || seen.has(event.record.key ?? '')) continue;
    const parsed = parseRecord('inventory', event.record);
    if (!parsed.ok || parsed.event.status !== 'complete') continue;
    seen.add(event.record.key ?? '');
    const inventory = parsed.event;
    for (const one of unmet.filter(({ policy }) => selects(policy.selector, inventory))) {
      names.note(inventory);
      hold(one, inventory);
    }
    if (!unmet.some(isAnyUnmet)) return [];
  }
  signal.throwIfAborted();
  return unmet.filter(({ nodes }) => nodes > 0).flatMap((one) => doubtsOf(one, names));
}

/** Takes away what something on this node meets; what would take too long to find out is taken for met. */
function hold(unmet: Unmet, inventory: CompleteInventory): void {
  const { patterns, digests, labels, namespaces } = unmet;
  unmet.nodes += 1;
  const found = namespacesOn(inventory);
  unmet.namespaces = namespaces.filter((namespace) => !found.has(namespace));
  const left = rulesLeft({ patterns, digests, labels }, inventory);
  unmet.patterns = patterns.filter((pattern) => left.has(pattern));
  unmet.digests = digests.filter((digest) => left.has(digest));
  unmet.labels = Object.fromEntries(Object.entries(labels).filter((label) => left.has(label.join('='))));
}

function rulesLeft(
  rules: Pick<Unmet, 'patterns' | 'digests' | 'labels'>,
  { images }: CompleteInventory,
): ReadonlySet<string> {
  try {
    const { withoutMatch } = keepMatcher({
      patterns: [...rules.patterns],
      digests: [...rules.digests],
      labels: rules.labels,
    });
    return new Set(withoutMatch(images.filter((image) => !hasUnreadableNames(image))));
  } catch (error) {
    if (error instanceof TooCostly) return new Set();
    throw error;
  }
}

const namespacesOn = ({ containers, sandboxes, podLogDirectories }: CompleteInventory): ReadonlySet<string> =>
  new Set([
    ...[...containers, ...sandboxes].flatMap(({ pod }) => pod?.namespace ?? []),
    ...(podLogDirectories ?? []).flatMap(({ name }) => namespaceOfLogDirectory(name) ?? []),
  ]);

/** So many names are compared with a misspelt entry. */
const MOST_NAMES = 2_000;

/** What is on the nodes, to find what a misspelt entry may have meant. */
class Names {
  readonly images = new Set<string>();
  readonly namespaces = new Set<string>();

  note(inventory: CompleteInventory): void {
    for (const namespace of namespacesOn(inventory)) add(this.namespaces, namespace);
    for (const image of inventory.images)
      if (!hasUnreadableNames(image)) for (const name of image.repoTags) add(this.images, name);
  }
}

function add(names: Set<string>, name: string): void {
  if (names.size < MOST_NAMES) names.add(name);
}

/** So many entries of a policy are named. */
const MOST_TOLD = 10;

function doubtsOf({ key, nodes, ...unmet }: Unmet, names: Names): readonly string[] {
  const told = (field: string, entry: string, nearest?: string): string =>
    `Policy ${key}: keep.${field} ${JSON.stringify(entry)} matches nothing on ${nodes === 1 ? 'the node' : `any of the ${counted(nodes, 'node')}`} that reported in the last ${INVENTORIES_MS / MINUTE_MS} min. ${nearest === undefined ? 'Check the spelling.' : `Did you mean ${nearest}?`}`;
  const entries = [
    ...unmet.patterns.map((pattern) => () => told('images', pattern, nearestImage(pattern, names.images))),
    ...unmet.digests.map((digest) => () => told('digests', digest)),
    ...Object.entries(unmet.labels).map((label) => () => told('labels', label.join('='))),
    ...unmet.namespaces.map(
      (namespace) => () => told('namespaces', namespace, nearestName(namespace, names.namespaces)),
    ),
  ];
  const more = entries.length - MOST_TOLD;
  return [
    ...entries.slice(0, MOST_TOLD).map((tell) => tell()),
    ...(more > 0
      ? [
          `Policy ${key}: ${counted(more, 'more new keep entry matches', 'more new keep entries match')} nothing.`,
        ]
      : []),
  ];
}

/** The beginning of a pattern, up to its first wildcard, is compared with as many parts of the names. */
function nearestImage(pattern: string, images: ReadonlySet<string>): string | undefined {
  const wildcard = pattern.search(/[*?]/);
  if (wildcard < 0) return nearestName(pattern, images);
  const beginning = pattern.slice(0, pattern.lastIndexOf('/', wildcard) + 1).replace(/\/$/, '');
  if (beginning === '') return undefined;
  const parts = beginning.split('/').length;
  const nearest = nearestName(beginning, new Set([...images].map((name) => beginningOf(name, parts))));
  return nearest === undefined ? undefined : `${nearest}${pattern.slice(beginning.length)}`;
}

const beginningOf = (name: string, parts: number): string => name.split('/').slice(0, parts).join('/');

/** Says that the names may be wrong, where nodes were heard in the last day and none of them is selected. */
export async function warnUnlessSelected(
  selector: NodeSelector,
  { log, logger }: Pick<ReportingNodesNeeds, 'log'> & { readonly logger: Pick<Logger, 'warn'> },
  signal: AbortSignal,
): Promise<void> {
  const known = await knownUnlessSelected(selector, { log, nowMs: Date.now() }, signal);
  if (known.length > 0) logger.warn(selectsNobodyText(selector, known));
}

/** `known`: all nodes that there are, as `<cluster>/<node>`. */
export const selectsNobodyText = (selector: NodeSelector, known: readonly string[]): string =>
  `No node that was heard in the last day is meant by ${selectorText(selector)}: are the names right? ${knownNamesText('node', known)}`;

/**
 * The nodes that were heard, where none of them is selected. Ends at the first node that is selected, and after 5 s; never rejects,
 * since what was asked for is done already.
 */
async function knownUnlessSelected(
  selector: NodeSelector,
  needs: Omit<ReportingNodesNeeds, 'onProgress' | 'onNode'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  using bounded = new LinkedController(signal, AbortSignal.timeout(LONGEST_MS));
  const onNode: ReportingNodesNeeds['onNode'] = (stats) => {
    if (selects(selector, stats)) bounded.abort();
  };
  try {
    const { nodes } = await readReportingNodes({ ...needs, onProgress: () => {}, onNode }, bounded.signal);
    return bounded.signal.aborted ? [] : [...nodes.keys()];
  } catch {
    return [];
  }
}

/** So many names are listed. */
const MOST_NAMES_TOLD = 5;

/** Which nodes or clusters there are, to find the one that was meant. */
function knownNamesText(noun: 'node' | 'cluster', names: readonly string[]): string {
  const told = names.toSorted().slice(0, MOST_NAMES_TOLD);
  const more = names.length - told.length;
  return `Known ${noun}s: ${told.join(', ')}${more === 0 ? '' : `, and ${more} more`}.`;
}
