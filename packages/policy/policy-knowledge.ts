import type { Logger } from 'pino';
import { isApprovalKey, MAX_APPROVAL_MS } from '../../schemas/policy/approval.ts';
import { isPauseKey, selectorOfPauseKey } from '../../schemas/policy/policy.ts';
import type { SeenGenerations } from '../records/trust/seen-generations.ts';
import { deleteCommand, resumeCommand } from './ending-commands.ts';
import {
  type PolicyEntry,
  type PolicyReading,
  type PolicySets,
  setsOfEntries,
  type UnreadableEntry,
} from './policy-reading.ts';
import { selectorText } from './selector-text.ts';

/** What is known of the policies: the last sets that were read whole, and whether they may still be relied on. */
export interface PolicyKnowledge {
  /** The last sets known, be they reliable or not. */
  sets(): PolicySets;
  /** Of all kinds of subjects, what records cannot be read amount to included. */
  counts(): PolicyCounts;
  /** What about them is not reliable, however fresh they are; `null` when nothing is. */
  problem(): string | null;
  /** Which records cannot be read, also where they are reliable all the same: they have a pause for each of these. */
  unreadable(): string | null;
  /** A pass over the topic begins. */
  begin(): void;
  /** The pass reached the end of the topic. */
  adopt(reading: PolicyReading): void;
  /** The pass took one more record: it counts for whoever asks from now on. */
  update(reading: PolicyReading): void;
  /** Says what follows from all that came by now, be it asked for or not. */
  settle(): void;
  fail(message: string): void;
}

interface PolicyCounts {
  readonly policies: number;
  readonly pauses: number;
  /** Records that could be approvals, and approve nothing: they cannot be read, or no key signed them that may. */
  readonly unreadableApprovals: number;
}

interface KnowledgeSettings {
  readonly logger: Logger;
  readonly seen: SeenGenerations;
}

type Entries = ReadonlyMap<string, PolicyEntry>;

interface State {
  /** As of the last pass that came to the end. */
  entries: Entries;
  sets: PolicySets;
  /** Keys that were there and are not, without having been deleted. */
  lost: readonly string[];
  isOverfull: boolean;
  /** What was read since then, and not looked at: many records may come together, and all of them are one change. */
  unsettled: PolicyReading | null;
  adoptedOnce: boolean;
  current: boolean;
  failure: string | null;
}

/**
 * A key leaves the set only by a record that deletes it. If one is simply gone, the topic was deleted, recreated or cut
 * off, and a pause may be gone with it: then nothing is reliable until the key was written again.
 */
export function createPolicyKnowledge(settings: KnowledgeSettings, onAdopted: () => void): PolicyKnowledge {
  const { logger, seen } = settings;
  const state: State = {
    entries: new Map(),
    sets: setsOfEntries([]),
    lost: [],
    isOverfull: false,
    unsettled: null,
    adoptedOnce: false,
    current: false,
    failure: null,
  };
  const take = (reading: PolicyReading): void => takeInto(state, reading, settings);
  const settled = (): State => {
    const { unsettled } = state;
    state.unsettled = null;
    if (unsettled !== null) take(unsettled);
    return state;
  };
  return {
    sets: () => settled().sets,
    counts: () => countsOf(settled()),
    problem: () => problemOf(settled(), seen),
    unreadable: () => unreadableOf(settled()),
    settle: () => void settled(),
    begin: () => {
      settled();
      state.current = false;
    },
    adopt: (reading) => {
      state.current = true;
      take(reading);
      state.failure = null;
      state.adoptedOnce = true;
      onAdopted();
    },
    update: (reading) => {
      if (state.current) state.unsettled = reading;
    },
    fail: (message) => {
      settled();
      if (state.failure !== message)
        logger.warn({ topic: 'gc.policies' }, `policies cannot be read: ${message}`);
      state.failure = message;
      state.current = false;
    },
  };
}

function takeInto(state: State, reading: PolicyReading, settings: KnowledgeSettings): void {
  const { seen } = settings;
  const before = {
    hashes: hashesOf(state.sets),
    problem: state.failure ?? problemOf(state, seen),
    unreadable: unreadableOf(state),
    unreadableApprovals: unreadableApprovalsOf(state),
  };
  state.lost = [...state.entries.keys(), ...state.lost, ...seen.keys('policies')]
    // An approval that is gone approves nothing.
    .filter((key) => !reading.hasSeen(key) && !isApprovalKey(key))
    .filter(isFirst);
  state.isOverfull = reading.isOverfull();
  state.entries = new Map([...carriedOver(state), ...reading.entries]);
  state.sets = setsOfEntries(state.entries.values());
  remember(reading, seen);
  report(settings, state, before);
}

/**
 * A pause that has ended is remembered no longer: put back, it pauses once more, and that is safe; and no approval that was signed so
 * long ago that it has ended. Both come and go for ever, and there is room for so many.
 */
function remember({ generations, entries, isOverfull }: PolicyReading, seen: SeenGenerations): void {
  // What there was no room for has not ended.
  const hasEnded = (key: string): boolean => !isOverfull() && isPauseKey(key) && !entries.has(key);
  const ended = [...generations.keys()].filter(hasEnded);
  const isPast = (key: string, generation: number): boolean =>
    isApprovalKey(key) && generation + MAX_APPROVAL_MS < seen.passedMs;
  const standing = new Map([...generations].filter(([key, generation]) => !isPast(key, generation)));
  for (const key of ended) standing.delete(key);
  seen.saw('policies', standing);
  const past = seen.keys('policies').filter((key) => isPast(key, seen.of('policies', key)));
  seen.forget('policies', [...ended, ...past]);
}

/** What is lost stays known until somebody says what becomes of it. */
const carriedOver = ({ entries, lost }: State): Entries =>
  new Map([...entries].filter(([key]) => lost.includes(key)));

const isFirst = (key: string, index: number, keys: readonly string[]): boolean => keys.indexOf(key) === index;

const OVERFULL =
  'gc.policies holds more records that cannot be read than anybody keeps. Delete them, or make the topic anew and apply the policies again; it is looked at again within 5 min';

function problemOf({ entries, lost, isOverfull }: State, seen: SeenGenerations): string | null {
  if (isOverfull) return OVERFULL;
  if (lost.length > 0)
    return lossProblem(
      lost,
      lost.some((key) => seen.of('policies', key) > 0),
    );
  return textOf(unreadableEntries(entries).filter(({ hold }) => hold === null));
}

const unreadableOf = ({ entries }: State): string | null => textOf(unreadableEntries(entries));

const unreadableApprovals = ({ entries }: State) =>
  [...entries.values()].filter((entry) => entry.kind === 'unreadable-approval');

const unreadableApprovalsOf = (state: State): string | null => textOf(unreadableApprovals(state));

const unreadableEntries = (entries: Entries) =>
  [...entries.values()].filter((entry) => entry.kind === 'unreadable');

/** Whoever may write there can write any number of them. */
const MOST_NAMED = 5;

function textOf(entries: readonly UnreadableEntry[]): string | null {
  if (entries.length === 0) return null;
  const named = entries.slice(0, MOST_NAMED).map(({ problem }) => problem);
  const more = entries.length - named.length;
  return named.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

/** The same problem with more of the same is not told again. */
const isNews = (text: string | null, before: string | null): boolean =>
  text !== null && text.replace(/; and \d+ more$/, '') !== before?.replace(/; and \d+ more$/, '');

const hashesOf = (sets: PolicySets): string =>
  Object.values(sets)
    .map(({ hash }) => hash)
    .join(' ');

/** All sets have the same pauses. */
function countsOf(state: State): PolicyCounts {
  const all = Object.values(state.sets);
  return {
    policies: all.reduce((sum, { policies }) => sum + policies.length, 0),
    pauses: new Set(all.flatMap(({ pauses }) => pauses)).size,
    unreadableApprovals: unreadableApprovals(state).length,
  };
}

interface Before {
  readonly hashes: string;
  readonly problem: string | null;
  readonly unreadable: string | null;
  readonly unreadableApprovals: string | null;
}

function report({ logger, seen }: KnowledgeSettings, state: State, before: Before): void {
  const { sets, adoptedOnce } = state;
  const hashes = hashesOf(sets);
  const problem = problemOf(state, seen);
  const unreadable = unreadableOf(state);
  if (problem !== null && isNews(problem, before.problem)) logger.error({ topic: 'gc.policies' }, problem);
  if (problem === null && isNews(unreadable, before.unreadable))
    logger.error({ topic: 'gc.policies' }, `${unreadable}. The nodes that it may select are paused`);
  const approvals = unreadableApprovalsOf(state);
  if (isNews(approvals, before.unreadableApprovals))
    logger.error({ topic: 'gc.policies' }, `${approvals}. It approves nothing`);
  if (hashes === before.hashes && adoptedOnce && (problem === null) === (before.problem === null)) return;
  const { unreadableApprovals: _, ...counts } = countsOf(state);
  if (problem === null) logger.info({ ...counts, setHash: hashes }, 'policies in force');
}

/**
 * What `gc.policies` no longer holds, by keys, and what people do about it. `isRemembered`: whether a process that starts knows of it
 * too.
 */
export function lossProblem(lost: readonly string[], isRemembered: boolean): string {
  const policies = lost.filter((key) => !isPauseKey(key));
  const pauses = lost.filter(isPauseKey);
  const what = [...policies.map(quoted), ...pauses.map(pauseName)].join(', ');
  return [
    `gc.policies no longer holds ${what} although nobody deleted it: the topic was recreated or cut off`,
    ...aboutPolicies(policies),
    ...pauses.flatMap(aboutPause),
    ...(isRemembered ? [] : ['Or restart this process to go on with what the topic holds now']),
  ].join('. ');
}

const aboutPolicies = (names: readonly string[]): readonly string[] =>
  names.length === 0
    ? []
    : [`Apply ${names.map(quoted).join(', ')} again, or write the deletion: ${deleteCommand(names)}`];

function aboutPause(key: string): readonly string[] {
  const selector = selectorOfPauseKey(key);
  const isByOptions = selector !== null && Object.keys(selector.nodeLabels).length === 0;
  return isByOptions ? [`End ${pauseName(key)}: ${resumeCommand(selector)}`] : [];
}

function pauseName(key: string): string {
  const selector = selectorOfPauseKey(key);
  return selector === null ? `the pause ${quoted(key)}` : `the pause of ${selectorText(selector)}`;
}

const quoted = (key: string): string => JSON.stringify(key);
