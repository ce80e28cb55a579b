import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { EventLog } from '../../../packages/log/port.ts';
import type { PolicyWriter } from '../../../packages/policy/write-policies.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { DashboardActionDone, DashboardActionName } from '../../../schemas/reports/dashboard-actions.ts';
import type { FleetNode } from '../../../schemas/reports/fleet-nodes.ts';
import { type Identified, personKey } from '../access/access.ts';
import { RateBound } from '../bounds.ts';
import { ACTIONS, type ActingLog, onlyActs } from './perform.ts';

/** Opened for one action, as a verb opens it. */
export interface ActingPort {
  /** Whose signatures count for what people act on; `null` where nobody checks them. */
  readonly roots: TrustRoots | null;
  readonly openLog: (signal: AbortSignal) => Promise<EventLog>;
  /** With the key of this moment. Throws `KEY_UNUSABLE`. */
  readonly openWriter: (log: ActingLog, signal: AbortSignal) => Promise<PolicyWriter>;
}

interface DeskNeeds {
  readonly port: ActingPort;
  readonly nodes: () => readonly FleetNode[];
  /** So that the page sees at once what was done. */
  readonly onDone: () => Promise<void>;
  readonly logger: Logger;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * So many things a person may do; a program that acts in their name is stopped there.
 * @limit Actions of one user per minute.
 */
const MOST_IN_A_MINUTE = 30;
/** Somebody waits for the answer. */
const LONGEST_MS = 60_000;

/** What somebody wants done, once it was checked. */
interface AskedFor {
  readonly person: Identified;
  readonly name: DashboardActionName;
  readonly asked: { readonly id: string };
}

/** How whoever acts is called on the log. */
const actorText = ({ name, by }: Identified): string => `${name} (dashboard, ${by})`;

/** Does what people ask for from the page, one thing after the other. */
export class ActionDesk implements AsyncDisposable {
  readonly #needs: DeskNeeds;
  readonly #ending = new AbortController();
  readonly #once = new DoneOnce();
  readonly #rate = new RateBound(MOST_IN_A_MINUTE);
  #last: Promise<unknown> = Promise.resolve();

  constructor(needs: DeskNeeds) {
    this.#needs = needs;
  }

  /** How long whoever has asked for much lately has to wait; 0: not at all, and it counts. */
  waitMs(person: Identified): number {
    return this.#rate.waitMs(personKey(person), this.#needs.now());
  }

  /** `null`: its id was for something else. Rejects with a `FleetGcError` that says what is wrong. */
  do({ person, name, asked }: AskedFor): Promise<DashboardActionDone> | null {
    const id = JSON.stringify([personKey(person), asked.id]);
    return this.#once.once(id, JSON.stringify([name, asked]), () => {
      const done = this.#last.then(() => this.#perform({ person, name, asked }));
      this.#last = done.catch(() => undefined);
      return done;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#last;
  }

  async #perform({ person, name, asked }: AskedFor): Promise<DashboardActionDone> {
    const { port, nodes, onDone, logger, now } = this.#needs;
    using bounded = new LinkedController(this.#ending.signal, AbortSignal.timeout(LONGEST_MS));
    const { signal } = bounded;
    const by = actorText(person);
    try {
      await using opened = await this.#open(signal);
      const acting = { ...opened, by, roots: port.roots, nodes: nodes(), nowMs: now() };
      const done = await ACTIONS[name].perform(asked, acting, signal);
      logger.info({ action: name, by, id: asked.id }, done.text);
      await onDone().catch((error) =>
        logger.warn({ err: toFleetGcError(error) }, 'what was done is seen a little later'),
      );
      return done;
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      logger.warn({ action: name, by, id: asked.id, err: error }, 'an action was not done');
      throw error;
    }
  }

  /** Why it could not be opened may name files and commands of this machine: that stays in the log of the dashboard. */
  async #open(signal: AbortSignal): Promise<AsyncDisposable & Opened> {
    const { port, logger } = this.#needs;
    let log: EventLog | null = null;
    try {
      const whole = await port.openLog(signal);
      log = whole;
      const own = onlyActs(whole);
      const writer = await port.openWriter(own, signal);
      // No bound function: V8 takes none as a method of `await using`.
      return { log: own, writer, [Symbol.asyncDispose]: () => whole[Symbol.asyncDispose]() };
    } catch (thrown) {
      await log?.[Symbol.asyncDispose]();
      logger.warn({ err: toFleetGcError(thrown) }, 'nobody can act from the page now');
      throw new FleetGcError('LOG_UNREACHABLE', CANNOT_ACT, { cause: thrown });
    }
  }
}

interface Opened {
  readonly log: ActingLog;
  readonly writer: PolicyWriter;
}

const CANNOT_ACT = 'the dashboard cannot act now; its own log says why. Nothing was written';

/** A day of clicks. */
const MOST_REMEMBERED = 10_000;

interface Remembered {
  /** Of what was asked for: that may be long. */
  readonly sha256: string;
  readonly done: Promise<DashboardActionDone>;
}

/** What was asked for twice under one id, as a double click or a repeated request does, is done once. */
class DoneOnce {
  readonly #remembered = new Map<string, Remembered>();

  /** `null`: this id was for something else. What failed may be asked for again. */
  once(
    id: string,
    what: string,
    work: () => Promise<DashboardActionDone>,
  ): Promise<DashboardActionDone> | null {
    const known = this.#remembered.get(id);
    const sha256 = hash('sha256', what);
    if (known !== undefined) return known.sha256 === sha256 ? known.done : null;
    const done = work();
    this.#remembered.set(id, { sha256, done });
    done.catch(() => this.#remembered.delete(id));
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MOST_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
    return done;
  }
}
