import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import type { AskedName } from './asked-name.ts';
import { newLife, type ObjectLife } from './life-state.ts';
import { type Meaning, meaningsIn, meansById } from './meanings.ts';
import { createNodeLife } from './node-life.ts';
import type { NodeState, WatchedNode } from './node-state.ts';
import { commanded, decided, listed, notListed, refused, resulted } from './object-life.ts';
import { objectKey, objectsIn, podNamesIn, type SeenObject } from './seen-objects.ts';
import { type Subject, subjectsOf } from './subjects.ts';
import { createTimeline, type Moment } from './timeline.ts';

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

export function watchNode(asked: AskedName, where: WatchedNode): NodeWatch {
  const id = `${where.cluster}/${where.node}`;
  const state: NodeState = {
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
function isRepeated({ decisionIds }: NodeState, event: FleetEvent): boolean {
  if (event.type !== 'fleetgc.node.decision') return false;
  if (decisionIds.has(event.id)) return true;
  decisionIds.add(event.id);
  return false;
}

function tellNode(state: NodeState, event: FleetEvent, at: Moment): void {
  if (!meansNode(state.asked, state.where)) return;
  state.node ??= {
    life: createNodeLife(state.timeline, state.nodeObject),
    firstSeenMs: at.loggedAtMs,
    lastSeenMs: at.loggedAtMs,
  };
  state.node.lastSeenMs = at.loggedAtMs;
  state.node.life.tell(event, at);
}

function tellLives(state: NodeState, event: FleetEvent, at: Moment): void {
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
  state: NodeState,
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

function look(state: NodeState, inventory: CompleteInventory, at: Moment): void {
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

function learn(
  { meanings, podNames }: NodeState,
  meaning: Meaning,
  names: ReadonlyMap<string, string>,
): void {
  meanings.set(objectKey(meaning), meaning);
  const name = meaning.kind === 'pod' ? names.get(meaning.id) : undefined;
  if (name !== undefined) podNames.set(meaning.id, name);
}

const isMeant = ({ meanings }: NodeState, { object, podUid }: SeenObject): boolean =>
  meanings.has(objectKey(object)) ||
  (podUid !== null && meanings.has(objectKey({ kind: 'pod', id: podUid })));

function lifeOf({ lives, timeline }: NodeState, { object, podUid }: SeenObject, at: Moment): ObjectLife {
  const key = objectKey(object);
  const { life } = lives.get(key) ?? { life: newLife(timeline, object, at.loggedAtMs) };
  lives.set(key, { life, podUid });
  return life;
}
