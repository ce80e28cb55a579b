import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openPolicyWriter } from '../../../../../cli/framework/policy-writer.ts';
import { openEmbeddedLog } from '../../../../../packages/log/embedded.ts';
import type { EventLog } from '../../../../../packages/log/port.ts';
import { type PolicySource, startPolicySource } from '../../../../../packages/policy/policies.ts';
import { toAnyPolicyRecord } from '../../../../../packages/policy/policy-changes.ts';
import { readPoliciesBy, type StoredPolicies } from '../../../../../packages/policy/stored-policies.ts';
import { writeStates } from '../../../../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import { createLogger } from '../../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../../packages/process/metrics.ts';
import { systemSources } from '../../../../../packages/process/system-sources.ts';
import { keyOf } from '../../../../../packages/records/parse/record-key.ts';
import type { SigningKey } from '../../../../../packages/records/trust/key-pair.ts';
import { readKeys } from '../../../../../packages/records/trust/key-source.ts';
import { SeenGenerations } from '../../../../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../../../../packages/records/trust/signature.ts';
import { RequiredTrust } from '../../../../../packages/records/trust/trust.ts';
import type { KeyRole } from '../../../../../schemas/keys/key-statement.ts';
import type { Policy, PolicyTopicRecord } from '../../../../../schemas/policy/policy.ts';
import type { PolicyLog } from '../../../../../services/cluster/policy-controller/handler.ts';
import { diskStats } from '../../../../fixtures/disk-stats.ts';
import { policy } from '../../../../fixtures/policy.ts';
import { certified, FLEET, newKey, rootsOf, signingWith } from '../../../../fixtures/trust.ts';
import { silentContext } from '../../../../packages/log/probe.ts';
import { logLines } from '../../../../support/log-lines.ts';
import { outgoing } from '../../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

const DAY_MS = 86_400_000;
const NEVER = new AbortController().signal;

export interface FollowedLog extends PolicyLog {
  /** How often all of it was read anew. */
  reads: number;
  catchUp(): Promise<void>;
}

/** A real event log on which only what the keys of a fleet signed counts. */
export class GuardedLog {
  readonly log: EventLog;
  readonly #root = newKey();
  readonly operator = newKey();
  readonly roots = rootsOf(this.#root);

  private constructor(log: EventLog) {
    this.log = log;
  }

  static async open(): Promise<GuardedLog> {
    const path = join(temporaryDirectory(), 'log.db');
    const log = await openEmbeddedLog({ path, maxBytes: 64 * 1024 * 1024 }, silentContext());
    onTestFinished(() => log[Symbol.asyncDispose]());
    await log.createTopics();
    const guarded = new GuardedLog(log);
    await guarded.certify(guarded.operator, 'operator', []);
    return guarded;
  }

  async certify(key: SigningKey, role: KeyRole, clusters: readonly string[]): Promise<void> {
    const notAfterMs = Date.now() + DAY_MS;
    const { key: recordKey, ...record } = certified(this.#root, key, { role, clusters, notAfterMs });
    await this.log.publish([{ ...record, key: recordKey ?? '' }]);
  }

  /** A key of a policy controller for this cluster. */
  async controllerKey(cluster: string): Promise<SigningKey> {
    const key = newKey();
    await this.certify(key, 'policy-controller', [cluster]);
    return key;
  }

  /** What an operator of the fleet applies. */
  async apply(over: Partial<Policy>): Promise<void> {
    const record = toAnyPolicyRecord({
      subject: 'node',
      policy: policy(over),
      source: `name: ${over.name}\n`,
    });
    await this.#write(this.operator, { key: record.policy.name, event: record });
  }

  async pause(event: PolicyTopicRecord, key: string): Promise<void> {
    await this.#write(this.operator, { key, event });
  }

  /** As somebody writes who has this key, and none of our checks. */
  async forge(key: SigningKey, recordKey: string, event: PolicyTopicRecord): Promise<void> {
    const generation = Date.now();
    const signed = (topic: 'policies' | 'policyVersions', under: string) =>
      signRecord(outgoing({ topic, key: under, event }), { fleet: FLEET, key, generation });
    await this.log.publish([
      signed('policyVersions', keyOf('policyVersions', event)),
      signed('policies', recordKey),
    ]);
  }

  async #write(key: SigningKey, state: { readonly key: string; readonly event: PolicyTopicRecord }) {
    await writeStates(await this.#writer(key, 'operator'), [state]);
  }

  #writer(key: SigningKey, role: KeyRole) {
    const trust = {
      kind: 'required',
      roots: this.roots,
      signing: signingWith(key, role),
      facts: 'off',
      seen: new SeenGenerations(),
      learnsFrom: null,
    } as const;
    return openPolicyWriter(this.log, trust, { signal: NEVER, logger: SILENT() });
  }

  /** What everybody believes who judges by the keys of the fleet. */
  stored(): Promise<StoredPolicies> {
    return readPoliciesBy(this.roots, this.log, NEVER);
  }

  /** What a controller with this key works on. It follows when the test lets it. */
  policies(key: SigningKey): FollowedLog {
    let followed: StoredPolicies | null = null;
    const self = {
      reads: 0,
      catchUp: async () => {
        followed = await this.stored();
      },
      followed: () => {
        if (followed === null) throw new FleetGcError('POLICIES_UNREADABLE', 'they are not read yet');
        return followed.sets.node;
      },
      read: () => {
        self.reads += 1;
        return this.stored();
      },
      openWriter: () => this.#writer(key, 'policy-controller'),
    };
    return self;
  }

  /** As the executor of a node follows it, which looks at signatures itself. */
  async follow(): Promise<PolicySource> {
    const { ring } = await readKeys(this.log, this.roots, NEVER);
    const trust = new RequiredTrust({ ring: () => ring, problem: () => null, nowMs: Date.now });
    const { monotonicNow, random, wait } = systemSources;
    const source = startPolicySource({
      trust,
      seen: new SeenGenerations(),
      log: this.log,
      logger: SILENT(),
      metrics: createMetrics(),
      recheckMs: null,
      sources: { now: monotonicNow, random, wait },
    });
    onTestFinished(() => source[Symbol.asyncDispose]());
    await source.caughtUp;
    return source;
  }

  /** A node tells of its disks. */
  async hear(cluster: string, node: string, nodeLabels: Record<string, string> = {}): Promise<void> {
    const event = diskStats({}, { cluster, node, nodeLabels });
    await this.log.publish([outgoing({ topic: 'diskStats', key: keyOf('diskStats', event), event })]);
  }
}

const SILENT = () => createLogger({ service: 'test', level: 'error' }, logLines());
