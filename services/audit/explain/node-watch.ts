import type { ObjectKind } from '../../../schemas/command.ts';
import type { Candidate, ObjectState } from '../../../schemas/explanation.ts';
import type { CompleteInventory } from '../../../schemas/inventory.ts';
import type { ExplainedObject, TimelineEntry } from '../../../schemas/timeline.ts';
import type { FleetEvent } from '../../../schemas/topics.ts';
import type { AskedName } from './asked-name.ts';
import { newLife, type ObjectLife } from './life-state.ts';
import { type Meaning, meaningsIn, meansById } from './meanings.ts';
import { createNodeLife, type NodeLife } from './node-life.ts';
import { commanded, decided, listed, notListed, refused, resulted } from './object-life.ts';
import { objectKey, objectsIn, podNamesIn, type SeenObject } from './seen-objects.ts';
import { createTimeline, type Moment, type Timeline } from './timeline.ts';

/** One thing that the name means, with its life. */
export interface Subject {
  readonly candidate: Candidate;
  readonly timeline: () => readonly TimelineEntry[];
}

/** Follows on one node whatever the name means there. */
export interface NodeWatch {
  readonly tell: (event: FleetEvent, at: Moment) => void;
  /** A complete inventory was left unread, since nothing that is meant is in it. */
  readonly passOver: () => void;
  readonly subjects: () => readonly Subject[];
  /** Whether something that is meant was found. */
  readonly isFound: () => boolean;
  /** Whether an inventory has to be read to know what became of something. */
  readonly isThere: () => boolean;
  /** Of everything that was found. */
  readonly ids: () => Iterable<string>;
}

export interface WatchedNode {
  readonly cluster: string;
  readonly node: string;
}

interface State {
  readonly asked: AskedName;
  readonly where: WatchedNode;
  readonly timeline: Timeline;
  readonly lives: Map<string, Tracked>;
  readonly meanings: Map<string, Meaning>;
  /** Of pods that are meant, and remembered when only their UID is still listed. */
  readonly podNames: Map<string, string>;
  readonly decisionIds: Set<string>;
  readonly nodeObject: ExplainedObject;
  hasLooked: boolean;
  node: { readonly life: NodeLife; readonly firstSeenMs: number; lastSeenMs: number } | null;
}

interface Tracked {
  readonly life: ObjectLife;
  readonly podUid: string | null;
}

export function watchNode(asked: AskedName, where: WatchedNode): NodeWatch {
  const id = `${where.cluster}/${where.node}`;
  const state: State = {
    asked,
    where,
    timeline: createTimeline(),
    lives: new Map(),
    meanings: new Map(),
    podNames: new Map(),
    decisionIds: new Set(),
    nodeObject: { kind: 'node', id, name: id },
    hasLooked: false,
    node: null,
  };
  return {
    passOver: () => {
      state.hasLooked = true;
    },
    tell: (event, at) => {
      if (isRepeated(state, event)) return;
      tellNode(state, event, at);
      tellLives(state, event, at);
    },
    subjects: () => subjectsOf(state),
    isFound: () => state.node !== null || state.lives.size > 0,
    isThere: () => state.lives.values().some(({ life }) => life.state === 'there'),
    ids: () => state.lives.values().map(({ life }) => life.object.id),
  };
}

/** Whether the name means this node. */
export const meansNode = ({ kind, text }: AskedName, { cluster, node }: WatchedNode): boolean =>
  (kind === null || kind === 'node') && (text === node || text === `${cluster}/${node}`);

/** A decision may lie on the log twice, and is one all the same. */
function isRepeated({ decisionIds }: State, event: FleetEvent): boolean {
  if (event.type !== 'fleetgc.node.decision') return false;
  if (decisionIds.has(event.id)) return true;
  decisionIds.add(event.id);
  return false;
}

function tellNode(state: State, event: FleetEvent, at: Moment): void {
  if (!meansNode(state.asked, state.where)) return;
  state.node ??= {
    life: createNodeLife(state.timeline, state.nodeObject),
    firstSeenMs: at.loggedAtMs,
    lastSeenMs: at.loggedAtMs,
  };
  state.node.lastSeenMs = at.loggedAtMs;
  state.node.life.tell(event, at);
}

function tellLives(state: State, event: FleetEvent, at: Moment): void {
  if (event.type === 'fleetgc.node.inventory') {
    if (event.status === 'complete') look(state, event, at);
    return;
  }
  for (const object of namedBy(event)) if (meansById(state.asked, object)) meetById(state, object, at);
  for (const { life } of state.lives.values()) tellLife(life, event, at);
}

/** What is commanded and removed may have been listed before reading began. */
function namedBy(event: FleetEvent): readonly { readonly kind: ObjectKind; readonly id: string }[] {
  if (event.type === 'fleetgc.node.command') return event.items;
  return event.type === 'fleetgc.node.object-result' ? [event.object] : [];
}

function meetById(
  state: State,
  { kind, id }: { readonly kind: ObjectKind; readonly id: string },
  at: Moment,
) {
  const key = objectKey({ kind, id });
  if (state.lives.has(key)) return;
  state.meanings.set(key, { kind, id });
  state.lives.set(key, {
    life: newLife(state.timeline, { kind, id, name: id }, at.loggedAtMs),
    podUid: null,
  });
}

function tellLife(life: ObjectLife, event: FleetEvent, at: Moment): void {
  switch (event.type) {
    case 'fleetgc.node.decision':
      decided(life, event, at);
      break;
    case 'fleetgc.node.command':
      commanded(life, event, at);
      break;
    case 'fleetgc.node.object-result':
      if (objectKey(event.object) === objectKey(life.object)) resulted(life, event, at);
      break;
    case 'fleetgc.node.command-result':
      refused(life, event, at);
      break;
  }
}

function look(state: State, inventory: CompleteInventory, at: Moment): void {
  const podNames = new Map([...state.podNames, ...podNamesIn(inventory)]);
  const objects = objectsIn(inventory, podNames);
  for (const meaning of meaningsIn(inventory, objects, { asked: state.asked, podNames }))
    learn(state, meaning, podNames);
  const there = objects.filter((object) => isMeant(state, object));
  const looked = { inventory, isFirst: !state.hasLooked };
  state.hasLooked = true;
  for (const object of there) listed(lifeOf(state, object, at), object, looked, at);
  const keys = new Set(there.map(({ object }) => objectKey(object)));
  for (const [key, { life }] of state.lives) if (!keys.has(key)) notListed(life, inventory, at);
}

function learn({ meanings, podNames }: State, meaning: Meaning, names: ReadonlyMap<string, string>): void {
  meanings.set(objectKey(meaning), meaning);
  const name = meaning.kind === 'pod' ? names.get(meaning.id) : undefined;
  if (name !== undefined) podNames.set(meaning.id, name);
}

const isMeant = ({ meanings }: State, { object, podUid }: SeenObject): boolean =>
  meanings.has(objectKey(object)) ||
  (podUid !== null && meanings.has(objectKey({ kind: 'pod', id: podUid })));

function lifeOf({ lives, timeline }: State, { object, podUid }: SeenObject, at: Moment): ObjectLife {
  const key = objectKey(object);
  const { life } = lives.get(key) ?? { life: newLife(timeline, object, at.loggedAtMs) };
  lives.set(key, { life, podUid });
  return life;
}

function subjectsOf(state: State): Subject[] {
  const { node, nodeObject, where, timeline, meanings } = state;
  const ofNode = node && {
    candidate: {
      ...nodeObject,
      ...where,
      state: 'there' as const,
      firstSeenMs: node.firstSeenMs,
      lastSeenMs: node.lastSeenMs,
    },
    timeline: () => timeline.entries().filter(({ object }) => object.kind === 'node'),
  };
  return [...(ofNode ? [ofNode] : []), ...[...meanings.values()].flatMap((one) => subjectOf(state, one))];
}

function subjectOf(state: State, { kind, id }: Meaning): Subject[] {
  const { lives, where, timeline, podNames } = state;
  const members = [...lives]
    .filter(([key, { podUid }]) => key === objectKey({ kind, id }) || (kind === 'pod' && podUid === id))
    .map(([key, { life }]) => ({ key, life }));
  const [first] = members;
  if (first === undefined) return [];
  const keys = new Set(members.map(({ key }) => key));
  return [
    {
      candidate: {
        kind,
        id,
        name: kind === 'pod' ? (podNames.get(id) ?? id) : first.life.object.name,
        ...where,
        state: stateOf(members.map(({ life }) => life)),
        firstSeenMs: Math.min(...members.map(({ life }) => life.firstSeenMs)),
        lastSeenMs: Math.max(...members.map(({ life }) => life.lastSeenMs)),
      },
      timeline: () => timeline.entries().filter(({ object }) => keys.has(objectKey(object))),
    },
  ];
}

/** A pod is there for as long as anything of it is; what it is called of is listed when nothing else is left. */
function stateOf(lives: readonly ObjectLife[]): ObjectState {
  if (lives.some(({ state }) => state === 'there')) return 'there';
  const things = lives.filter(({ object }) => object.kind !== 'pod');
  return things.some(({ state }) => state === 'removed') && things.every(({ state }) => state === 'removed')
    ? 'removed'
    : 'gone';
}
