import type { Command } from '../../../schemas/events/command.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import type { CommandResult, ObjectResult } from '../../../schemas/events/result.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import type { ObjectState } from '../../../schemas/reports/explanation.ts';
import type { ExplainedObject, TimelineEntry } from '../../../schemas/reports/timeline.ts';
import type { SeenObject } from '../../archive/inventory-objects.ts';
import { removedBecause } from '../../decision/rule-text.ts';
import { isBefore } from '../events/identity.ts';
import { noteListing, noteUse } from './object-changes.ts';
import { createFolding, type Folding, type Moment, type Noted, type Timeline } from './timeline.ts';
import { noteVerdict, type Sighting } from './verdicts.ts';

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
export class ObjectLife {
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
