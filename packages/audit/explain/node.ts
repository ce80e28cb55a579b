import type { Command } from '../../../schemas/events/command.ts';
import type { Decision, Verdict } from '../../../schemas/events/decision.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import type { CompleteInventory, Inventory } from '../../../schemas/events/inventory.ts';
import { deciderOf, type ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import type { Candidate, ObjectState } from '../../../schemas/reports/explanation.ts';
import type {
  EntryOf,
  ExplainedKind,
  ExplainedObject,
  ExplainedUser,
  SeenHow,
  TimelineEntry,
} from '../../../schemas/reports/timeline.ts';
import {
  objectsIn,
  type PodNames,
  podNamesIn,
  type SeenObject,
  type Traits,
} from '../../archive/inventory-objects.ts';
import { keptBecause, removedBecause } from '../../decision/rule-text.ts';
import { leastOf, mostOf } from '../../process/collections.ts';
import { isBefore, objectKey } from '../events/log-position.ts';
import {
  type AskedName,
  type Meaning,
  meaningsIn,
  meansById,
  meansNode,
  type WatchedNode,
} from './question.ts';
import {
  createFolding,
  createTimeline,
  type Folding,
  type Moment,
  type Noted,
  type Timeline,
} from './timeline.ts';

/** Follows on one node whatever the name means there. */
export class NodeFollower {
  readonly #asked: AskedName;
  readonly #where: WatchedNode;
  readonly #timeline = createTimeline();
  readonly #lives = new Map<string, Tracked>();
  readonly #meanings = new Map<string, Meaning>();
  /** Of pods that are meant, and known when only their UID is still listed. */
  readonly #podNames = new Map<string, string>();
  #hasLooked = false;
  /** The node itself, where it is meant. */
  #node: NodeLife | null = null;

  constructor(asked: AskedName, where: WatchedNode) {
    this.#asked = asked;
    this.#where = where;
  }

  tell(event: FleetEvent, at: Moment): void {
    if (meansNode(this.#asked, this.#where)) {
      this.#node ??= new NodeLife(this.#timeline, this.#where, at.loggedAtMs);
      this.#node.tell(event, at);
    }
    if (event.type !== 'fleetgc.node.inventory') this.#tellLives(event, at);
    else if (event.status === 'complete') this.#look(event, at);
  }

  /** A complete inventory was left unread, since nothing that is meant is in it. */
  passOver(): void {
    this.#hasLooked = true;
  }

  /** Everything that the name means on the node. */
  subjects(): readonly Subject[] {
    const on: OnNode = {
      where: this.#where,
      timeline: this.#timeline,
      lives: this.#lives,
      podNames: this.#podNames,
    };
    return [
      ...(this.#node === null ? [] : [nodeSubject(this.#node, on)]),
      ...[...this.#meanings.values()].flatMap((meaning) => objectSubject(meaning, on) ?? []),
    ];
  }

  /** Whether something that is meant was found. */
  isFound(): boolean {
    return this.#node !== null || this.#lives.size > 0;
  }

  /** Whether an inventory has to be read to know what became of something. */
  isThere(): boolean {
    return this.#lives.values().some(({ life }) => life.state === 'there');
  }

  /** Of everything that was found. */
  ids(): Iterable<string> {
    return this.#lives.values().map(({ life }) => life.object.id);
  }

  #tellLives(event: FleetEvent, at: Moment): void {
    for (const object of namedBy(event)) if (meansById(this.#asked, object)) this.#meetById(object, at);
    for (const { life } of this.#lives.values()) tellLife(life, event, at);
  }

  #meetById({ kind, id }: NamedObject, at: Moment): void {
    const key = objectKey({ kind, id });
    if (this.#lives.has(key)) return;
    this.#meanings.set(key, { kind, id });
    const life = new ObjectLife(this.#timeline, { kind, id, name: id }, at.loggedAtMs);
    this.#lives.set(key, { life, podUid: null });
  }

  #look(inventory: CompleteInventory, at: Moment): void {
    const podNames = new Map([...this.#podNames, ...podNamesIn(inventory)]);
    const objects = objectsIn(inventory, podNames);
    for (const meaning of meaningsIn(inventory, objects, { asked: this.#asked, podNames }))
      this.#learn(meaning, podNames);
    const there = objects.filter((object) => this.#isMeant(object));
    const look = { inventory, isFirst: !this.#hasLooked };
    this.#hasLooked = true;
    for (const object of there) this.#lifeOf(object, at).listed(object, look, at);
    const keys = new Set(there.map(({ object }) => objectKey(object)));
    for (const [key, { life }] of this.#lives) if (!keys.has(key)) life.notListed(inventory, at);
  }

  #learn(meaning: Meaning, names: ReadonlyMap<string, string>): void {
    this.#meanings.set(objectKey(meaning), meaning);
    const name = meaning.kind === 'pod' ? names.get(meaning.id) : undefined;
    if (name !== undefined) this.#podNames.set(meaning.id, name);
  }

  #isMeant({ object, podUid }: SeenObject): boolean {
    return (
      this.#meanings.has(objectKey(object)) ||
      (podUid !== null && this.#meanings.has(objectKey({ kind: 'pod', id: podUid })))
    );
  }

  #lifeOf({ object, podUid }: SeenObject, at: Moment): ObjectLife {
    const key = objectKey(object);
    const life = this.#lives.get(key)?.life ?? new ObjectLife(this.#timeline, object, at.loggedAtMs);
    this.#lives.set(key, { life, podUid });
    return life;
  }
}

interface NamedObject {
  readonly kind: ObjectKind;
  readonly id: string;
}

/** What is commanded and removed may have been listed before reading began. */
function namedBy(event: FleetEvent): readonly NamedObject[] {
  if (event.type === 'fleetgc.node.command') return event.items;
  return event.type === 'fleetgc.node.object-result' ? [event.object] : [];
}

function tellLife(life: ObjectLife, event: FleetEvent, at: Moment): void {
  switch (event.type) {
    case 'fleetgc.node.decision':
      life.decided(event, at);
      break;
    case 'fleetgc.node.command':
      life.commanded(event, at);
      break;
    case 'fleetgc.node.object-result':
      if (objectKey(event.object) === objectKey(life.object)) life.resulted(event, at);
      break;
    case 'fleetgc.node.command-result':
      life.refused(event, at);
      break;
  }
}

/** Follows a node as a whole, and notes on the timeline what it says and what is decided for it. */
class NodeLife {
  readonly object: ExplainedObject;
  readonly firstSeenMs: number;
  lastSeenMs: number;
  readonly #timeline: Timeline;
  readonly #decisions = new Map<string, Folding>();
  readonly #sent = new Map<string, Noted>();
  readonly #looks: Folding;
  #traits: Traits | null = null;

  constructor(timeline: Timeline, node: WatchedNode, atMs: number) {
    const id = nodeKey(node);
    this.object = { kind: 'node', id, name: id };
    this.firstSeenMs = atMs;
    this.lastSeenMs = atMs;
    this.#timeline = timeline;
    this.#looks = createFolding(timeline);
  }

  tell(event: FleetEvent, at: Moment): void {
    this.lastSeenMs = at.loggedAtMs;
    switch (event.type) {
      case 'fleetgc.node.inventory':
        this.#look(event, at);
        break;
      case 'fleetgc.node.decision':
        this.#decide(event, at);
        break;
      case 'fleetgc.node.command-result':
        this.#answer(event, at);
        break;
      case 'fleetgc.node.pass-failed': {
        const { problem, message } = event;
        this.#timeline.note({ what: 'pass-failed', ...at, object: this.object, problem, message });
        break;
      }
      case 'fleetgc.node.pressure-unrelieved': {
        const { availableNow, holders } = event;
        this.#timeline.note({ what: 'unrelieved', ...at, object: this.object, availableNow, holders });
        break;
      }
    }
  }

  #look(inventory: Inventory, at: Moment): void {
    const { object } = this;
    const [before, now] = [this.#traits, traitsOf(inventory)];
    if (before === null) this.#timeline.note({ what: 'seen', ...at, object, how: 'first-look', traits: now });
    else noteChange(this.#timeline, { ...at, object, from: before, to: now });
    this.#traits = now;
    if (inventory.status === 'complete') this.#looks.interrupt();
    else this.#looks.note(...notSeen(inventory, object, at));
  }

  #decide(decision: Decision, at: Moment): void {
    const folding = this.#decisions.get(decision.decider.name) ?? createFolding(this.#timeline);
    this.#decisions.set(decision.decider.name, folding);
    const noted = folding.note(...concluded(decision, this.object, at));
    if (decision.outcome === 'commanded') for (const id of decision.outputIds) this.#sent.set(id, noted);
  }

  #answer({ commandId, kind, result }: CommandResult, at: Moment): void {
    this.#sent
      .get(commandId)
      ?.update((entry) => (entry.what === 'decision' ? { ...entry, answered: true } : entry));
    this.#timeline.note({ what: 'command-result', ...at, object: this.object, commandId, kind, result });
  }
}

const traitsOf = ({ nodeInstance, takenAt, runtime }: Inventory): Traits => ({
  nodeInstance,
  bootId: takenAt.bootId,
  runtime: `${runtime.name} ${runtime.version}`,
});

function notSeen(
  inventory: Exclude<Inventory, { status: 'complete' }>,
  object: ExplainedObject,
  at: Moment,
): [key: string, entry: EntryOf<'not-seen'>] {
  const problems = inventory.status === 'incomplete' ? inventory.problems : [];
  const key = [inventory.status, ...problems.map(({ code }) => code)].join(' ');
  return [key, { what: 'not-seen', ...at, object, ...repeatable(at), status: inventory.status, problems }];
}

/** Readings differ every time, so the reason is not compared. Commands stand alone. */
function concluded(
  decision: Decision,
  object: ExplainedObject,
  at: Moment,
): [key: string, entry: EntryOf<'decision'>] {
  const { outcome, policy, notBelieved, reclaim, verdicts, estimatedBytes } = decision;
  const rules = notBelieved.map(({ rule }) => rule);
  const own = outcome === 'commanded' || outcome === 'ordered' ? decision.id : '';
  return [
    [outcome, policy?.hash ?? '', own, ...rules].join(' '),
    {
      what: 'decision',
      ...at,
      object,
      ...repeatable(at),
      ...decidedBy(decision),
      removals: verdicts.filter(({ action }) => action === 'remove').length,
      estimatedBytes,
      answered: outcome === 'commanded' ? false : null,
      reclaim: reclaim && {
        id: reclaim.id,
        cause: reclaim.cause,
        target: reclaim.target,
        round: reclaim.round,
      },
    },
  ];
}

/** A look that was complete. */
interface Look {
  readonly inventory: CompleteInventory;
  /** No complete one of the node was read before. */
  readonly isFirst: boolean;
}

interface SentCommand {
  readonly noted: Noted;
  readonly expectedBytes: number | null;
}

const MADE_IT_GO: ReadonlySet<string> = new Set(['removed', 'not-found']);

/** Follows one object of one node, and notes on the timeline what becomes of it. */
class ObjectLife {
  object: ExplainedObject;
  state: ObjectState = 'there';
  readonly firstSeenMs: number;
  lastSeenMs: number;
  readonly #timeline: Timeline;
  readonly #folding: Folding;
  #nodeInstance = '';
  /** The last look that showed it; `null` before the first. */
  #seen: SeenObject | null = null;
  /** By inventory, for the decisions about it. */
  readonly #sightings = new Map<string, Sighting>();
  readonly #commands = new Map<string, SentCommand>();
  readonly #openCommands = new Set<string>();
  /** Of the result that says so. */
  #removedAt: Instant | null = null;
  #gone: Noted | null = null;

  constructor(timeline: Timeline, object: ExplainedObject, atMs: number) {
    this.object = object;
    this.firstSeenMs = atMs;
    this.lastSeenMs = atMs;
    this.#timeline = timeline;
    this.#folding = createFolding(timeline);
  }

  listed(now: SeenObject, { inventory, isFirst }: Look, at: Moment): void {
    this.#sightings.set(inventory.id, { position: now.position, users: now.use?.users ?? [] });
    if (this.#removedAt !== null && isBefore(inventory.takenAt, this.#removedAt)) return;
    this.object = now.object;
    this.#nodeInstance = inventory.nodeInstance;
    this.lastSeenMs = at.loggedAtMs;
    const isBack = this.state !== 'there';
    this.state = 'there';
    this.#removedAt = null;
    this.#gone = null;
    const known = { timeline: this.#timeline, seen: this.#seen };
    noteListing(known, now, { ...at, how: isBack ? 'again' : isFirst ? 'first-look' : 'new' });
    noteUse(known, now, at);
    this.#seen = now;
  }

  /** A complete inventory does not list it. */
  notListed({ nodeInstance }: CompleteInventory, at: Moment): void {
    if (this.state !== 'there') return;
    this.#end('gone');
    this.#gone = this.#timeline.note({
      what: 'gone',
      ...at,
      object: this.object,
      commandOpen: this.#openCommands.size > 0,
      otherInstance: nodeInstance !== this.#nodeInstance,
    });
  }

  /** Decisions about inventories that do not list the object say nothing of it. */
  decided(decision: Decision, at: Moment): void {
    const sighting = this.#sightings.get(decision.input.id);
    if (sighting === undefined) return;
    noteVerdict({ folding: this.#folding, object: this.object }, sighting, { decision, at });
  }

  commanded(command: Command, at: Moment): void {
    const { kind, id } = this.object;
    const item = command.items.find((candidate) => candidate.kind === kind && candidate.id === id);
    if (item === undefined || this.#commands.has(command.id)) return;
    const expectedBytes = 'estimatedBytes' in item ? item.estimatedBytes : null;
    const noted = this.#timeline.note({
      what: 'command',
      ...at,
      object: this.object,
      commandId: command.id,
      rule: item.rule,
      because: removedBecause(item.rule),
      expectedBytes,
      lifetimeMs: command.lifetimeMs,
      answered: false,
    });
    this.#commands.set(command.id, { noted, expectedBytes });
    this.#openCommands.add(command.id);
  }

  /** What became of it by a command. */
  resulted(event: ObjectResult, at: Moment): void {
    const { commandId, rule, result } = event;
    const { outcome } = result;
    this.#noteResult(commandId, {
      what: 'result',
      ...at,
      object: this.object,
      commandId,
      wholeCommand: false,
      outcome,
      rule,
      reason: 'reason' in result ? result.reason : null,
      message: 'message' in result ? result.message : null,
      expectedBytes: this.#commands.get(commandId)?.expectedBytes ?? null,
      measured: outcome === 'removed' ? result.measured : null,
    });
    if (!MADE_IT_GO.has(outcome)) return;
    if (outcome === 'removed') this.#gone?.update(() => null);
    this.#end(outcome === 'removed' ? 'removed' : 'gone');
    this.#removedAt = event.at;
  }

  /** A command that named it was not carried out at all. */
  refused({ commandId, result }: CommandResult, at: Moment): void {
    const sent = this.#commands.get(commandId);
    if (sent === undefined || result.outcome !== 'refused') return;
    const { reason, message } = result;
    this.#noteResult(commandId, {
      what: 'result',
      ...at,
      object: this.object,
      commandId,
      wholeCommand: true,
      outcome: 'refused',
      rule: null,
      reason,
      message,
      expectedBytes: sent.expectedBytes,
      measured: null,
    });
  }

  #end(state: 'gone' | 'removed'): void {
    this.state = state;
    this.#seen = null;
    this.#folding.interrupt();
  }

  #noteResult(commandId: string, entry: TimelineEntry): void {
    this.#commands
      .get(commandId)
      ?.noted.update((sent) => (sent.what === 'command' ? { ...sent, answered: true } : sent));
    this.#openCommands.delete(commandId);
    this.#timeline.note(entry);
  }
}

interface Known {
  readonly timeline: Timeline;
  /** The last look that showed it; `null` before the first. */
  readonly seen: SeenObject | null;
}

/** That it is there, for the first time or again, or looks otherwise than before. */
function noteListing(
  { timeline, seen }: Known,
  { object, traits, details }: SeenObject,
  { how, ...at }: Moment & { readonly how: SeenHow },
): void {
  if (seen === null) {
    timeline.note({ what: 'seen', ...at, object, how, traits: { ...details, ...traits } });
    return;
  }
  noteChange(timeline, { ...at, object, from: seen.traits, to: traits });
}

/** Of what could have changed only what did; nothing where nothing did. */
function noteChange(timeline: Timeline, { from, to, ...rest }: Omit<EntryOf<'changed'>, 'what'>): void {
  const changed = Object.keys(to).filter((name) => to[name] !== from[name]);
  if (changed.length === 0) return;
  const pick = (all: Traits): Traits => Object.fromEntries(changed.map((name) => [name, all[name] ?? null]));
  timeline.note({ what: 'changed', ...rest, from: pick(from), to: pick(to) });
}

/** Whoever begins or ceases to use it. */
function noteUse({ timeline, seen }: Known, { object, use }: SeenObject, at: Moment): void {
  if (use === null) return;
  const before = seen?.use?.users ?? [];
  const begun = without(use.users, before);
  const ended = without(before, use.users);
  if (begun.length === 0 && ended.length === 0) return;
  const entry: EntryOf<'used'> = {
    what: 'used',
    ...at,
    object,
    users: [...use.users],
    begun,
    ended,
    lastUsedMs: use.lastUsedMs,
  };
  timeline.note(entry);
}

function without(objects: readonly ExplainedUser[], others: readonly ExplainedUser[]): ExplainedUser[] {
  const known = new Set(others.map(objectKey));
  return objects.filter((object) => !known.has(objectKey(object)));
}

/** What an inventory said of the object, for the decisions about it. */
interface Sighting {
  readonly position: number;
  readonly users: readonly ExplainedUser[];
}

interface Made {
  readonly decision: Decision;
  readonly at: Moment;
}

/** What a decision says of an object that its inventory listed, folded with equal ones before it. */
function noteVerdict(
  { folding, object }: { readonly folding: Folding; readonly object: ExplainedObject },
  sighting: Sighting,
  { decision, at }: Made,
): void {
  if (!isJudgeOf(decision, object.kind)) return;
  const verdict = decision.verdicts.find(
    ({ kind, position }) => kind === object.kind && position === sighting.position,
  );
  const common = { ...at, object, ...repeatable(at), ...decidedBy(decision) };
  if (verdict === undefined) {
    folding.note(`undecided ${decision.outcome}`, { what: 'undecided', ...common });
    return;
  }
  const { action, rule, facts } = verdict;
  const because = reasonOf(verdict, decision, sighting.users);
  const going = action === 'remove' ? decision.outcome : '';
  folding.note(JSON.stringify([action, rule, because, going, comparable(facts)]), {
    what: 'verdict',
    ...common,
    action,
    rule,
    because,
    facts,
  });
}

/** Ages and counts differ every time; what is said in words or yes and no does not. The user is in the reason. */
const comparable = ({ user: _, ...facts }: Verdict['facts']): readonly unknown[] =>
  Object.entries(facts).filter(([, value]) => typeof value !== 'number');

/** Nobody judges pods and nodes themselves. */
const isJudgeOf = ({ decider }: Decision, kind: ExplainedKind): boolean =>
  kind !== 'pod' && kind !== 'node' && decider.name === deciderOf(kind);

/** Of an entry that may be repeated: this once. */
const repeatable = ({ loggedAtMs, nodeTimeMs }: Moment) => ({
  times: 1,
  last: { loggedAtMs, nodeTimeMs },
});

/** What an entry says of the decision that it tells. */
const decidedBy = ({ decider, id, outcome, reason, policy }: Decision) => ({
  decider: decider.name,
  decisionId: id,
  outcome,
  reason,
  policy: policy && { name: policy.name, version: policy.version, hash: policy.hash },
});

/** The rule in words; of an image in use, by whom. */
function reasonOf(
  { action, rule, facts }: Verdict,
  { outcome }: Decision,
  users: readonly ExplainedUser[],
): string {
  if (action === 'remove') return removedBecause(rule);
  const because = keptBecause({ rule, facts }, outcome);
  const wording = NAMING_THE_USER[rule];
  const user = wording && users.find(({ kind, id }) => `${kind} ${id}` === facts.user);
  return user ? `${wording} ${user.kind} ${user.name}` : because;
}

const NAMING_THE_USER: Readonly<Record<string, string>> = { C8: 'used by', M5: 'wanted by' };

/** One thing that the name means, with its life. */
export interface Subject {
  readonly candidate: Candidate;
  readonly timeline: () => readonly TimelineEntry[];
}

interface Tracked {
  readonly life: ObjectLife;
  readonly podUid: string | null;
}

/** What is known of a node, by whoever watches it. */
interface OnNode {
  readonly where: WatchedNode;
  readonly timeline: Timeline;
  readonly lives: ReadonlyMap<string, Tracked>;
  readonly podNames: PodNames;
}

const nodeSubject = (
  { object, firstSeenMs, lastSeenMs }: NodeLife,
  { where, timeline }: OnNode,
): Subject => ({
  candidate: { ...object, ...where, state: 'there', firstSeenMs, lastSeenMs },
  timeline: () => timeline.entries().filter(({ object: { kind } }) => kind === 'node'),
});

/** An object, or a pod with all that belongs to it; `null` where nothing of it was found. */
function objectSubject({ kind, id }: Meaning, { lives, where, timeline, podNames }: OnNode): Subject | null {
  const members = [...lives]
    .filter(([key, { podUid }]) => key === objectKey({ kind, id }) || (kind === 'pod' && podUid === id))
    .map(([key, { life }]) => ({ key, life }));
  const [first] = members;
  if (first === undefined) return null;
  const keys = new Set(members.map(({ key }) => key));
  return {
    candidate: {
      kind,
      id,
      name: kind === 'pod' ? (podNames.get(id) ?? id) : first.life.object.name,
      ...where,
      state: stateOf(members.map(({ life }) => life)),
      firstSeenMs: leastOf(members.map(({ life }) => life.firstSeenMs)),
      lastSeenMs: mostOf(members.map(({ life }) => life.lastSeenMs)),
    },
    timeline: () => timeline.entries().filter(({ object }) => keys.has(objectKey(object))),
  };
}

/** A pod is there for as long as anything of it is; what it is called of is listed when nothing else is left. */
function stateOf(lives: readonly ObjectLife[]): ObjectState {
  if (lives.some(({ state }) => state === 'there')) return 'there';
  const things = lives.filter(({ object }) => object.kind !== 'pod');
  return things.some(({ state }) => state === 'removed') && things.every(({ state }) => state === 'removed')
    ? 'removed'
    : 'gone';
}
