import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TrustRoots } from '../../../schemas/keys/trust-roots.ts';
import type { PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { FleetNodes } from '../../../schemas/reports/fleet-nodes.ts';
import type { FleetStatus } from '../../../schemas/reports/fleet-status.ts';
import type { NameIndex } from '../../archive/names.ts';
import type { EventLog } from '../../log/port.ts';
import { readPoliciesBy, type StoredPolicies } from '../../policy/stored-policies.ts';
import { toFleetGcError } from '../../process/errors.ts';
import { readStatus } from '../fleet-status/fleet-status.ts';
import type { Fleet } from './fleet.ts';

/** What is read: a log that lives can be asked how it is, and an archive cannot. */
export type ProjectedLog =
  | { readonly kind: 'kafka'; readonly log: EventLog; readonly name: string }
  | { readonly kind: 'embedded'; readonly log: EventLog; readonly name: string; readonly path: string }
  | {
      readonly kind: 'archive';
      /** Of an archive that is indexed not all has to be read. */
      readonly log: Pick<EventLog, 'read'> & { readonly index?: NameIndex };
      readonly name: string;
      /** When its last record was written. */
      readonly endMs: number;
    };

/** A log and who is believed on it; an archive stands still at its end. */
export interface LogSource {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  readonly nowMs: number;
}

export interface StandingNeeds {
  readonly from: ProjectedLog;
  readonly roots: TrustRoots | null;
  readonly fleet: Fleet;
  readonly nodes: () => FleetNodes;
  /** What was read of nodes has to be stored before others decide about them. */
  readonly beforeOtherPolicies: () => void;
  readonly logger: Logger;
}

/** How things stand beside the nodes: policies, services, dead letters, clusters, by the functions of the verbs. */
export class Standing {
  readonly #needs: StandingNeeds;
  #problem: string | null = null;
  #status: FleetStatus | null = null;
  #pauses: StoredPolicies['pauses'] = new Map();
  #clusterPolicies: PolicySetOf<'cluster'>['policies'] = [];

  constructor(needs: StandingNeeds) {
    this.#needs = needs;
  }

  /** Why the log does not answer, in a sentence; `null` when it does. */
  get problem(): string | null {
    return this.#problem;
  }

  /** As it was asked last; `null` before, and of an archive, which stands still. */
  get status(): FleetStatus | null {
    return this.#status;
  }

  get pauses(): StoredPolicies['pauses'] {
    return this.#pauses;
  }

  get clusterPolicies(): PolicySetOf<'cluster'>['policies'] {
    return this.#clusterPolicies;
  }

  async readPolicies(signal: AbortSignal): Promise<void> {
    const { from, roots, fleet, beforeOtherPolicies } = this.#needs;
    await this.#asking(async () => {
      const { sets, pauses } = await readPoliciesBy(roots, from.log, signal);
      this.#pauses = pauses;
      this.#clusterPolicies = sets.cluster.policies;
      if (sets.node.hash === fleet.policies.hash) return;
      beforeOtherPolicies();
      await fleet.decidedBy(sets.node, () => setImmediate());
    });
  }

  async readStatus(nowMs: number, signal: AbortSignal): Promise<void> {
    const { from, roots, nodes } = this.#needs;
    if (from.kind === 'archive') return;
    const { log, kind } = from;
    await this.readPolicies(signal);
    await this.#asking(async () => {
      const asked = { log, kind, roots, nowMs, nodes, onProgress: () => undefined };
      this.#status = await readStatus(asked, signal);
    });
  }

  /** What the log does not answer now is asked again, and told as a problem meanwhile: to the logger once. */
  async #asking(ask: () => Promise<void>): Promise<void> {
    try {
      await ask();
      if (this.#problem !== null) this.#needs.logger.info('the event log answers again');
      this.#problem = null;
    } catch (thrown) {
      const error = toFleetGcError(thrown);
      if (error.code === 'INTERRUPTED') return;
      if (!error.retry) throw error;
      if (this.#problem !== error.message)
        this.#needs.logger.warn(
          { problem: error.message },
          'the event log does not answer; it is asked again',
        );
      this.#problem = error.message;
    }
  }
}
