import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { ObjectKind } from '../../../schemas/events/object-kinds.ts';
import type { FleetEvent } from '../../../schemas/events/topics.ts';
import { objectsIn, podNamesIn, type SeenObject } from '../../archive/inventory-objects.ts';
import { objectKey } from '../events/identity.ts';
import { type Meaning, meaningsIn, meansById, meansNode } from './meanings.ts';
import { NodeLife } from './node-life.ts';
import { ObjectLife } from './object-life.ts';
import type { AskedName, WatchedNode } from './question.ts';
import { nodeSubject, type OnNode, objectSubject, type Subject, type Tracked } from './subjects.ts';
import { createTimeline, type Moment } from './timeline.ts';

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
