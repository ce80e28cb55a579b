import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import { Deeds, SimulatedCluster } from '../../../../lab/sim/api-server/cluster.ts';
import { NAMESPACE, SERVED } from '../../../../lab/sim/api-server/objects.ts';
import { contentHash } from '../../../../packages/canonical/ids.ts';
import { decide } from '../../../../packages/deciders/graph-gc/decide.ts';
import { clusterOutput } from '../../../../packages/decision/handler.ts';
import type { ApiKind } from '../../../../packages/kube-api/resources.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { TRUST_OFF } from '../../../../packages/records/trust/trust.ts';
import { ClusterCommand } from '../../../../schemas/events/cluster-command.ts';
import { Ownership } from '../../../../schemas/events/ownership.ts';
import type { ClusterPolicy } from '../../../../schemas/policy/cluster-policy.ts';
import { ClusterAgent } from '../../../../services/cluster/agent/agent.ts';
import { readEarlierFacts } from '../../../../services/cluster/agent/earlier-facts.ts';
import type { AgentFact } from '../../../../services/cluster/agent/ports.ts';
import { ClusterExecutor } from '../../../../services/cluster/executor/executor.ts';
import type { ResultEvent } from '../../../../services/cluster/executor/ports.ts';
import { recentResults } from '../../../../services/cluster/executor/recent-results.ts';
import { clusterPolicy, clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { readableLog } from '../../../support/logs/readable-log.ts';
import { manualTime } from '../../../support/manual-time.ts';
import { nextLook } from '../../../support/next-look.ts';
import { Life } from './life.ts';
import { mortalConnection, Watches } from './mortal-connection.ts';

const DATE_MS = 1_800_000_000_000;

/** What of the decider's verdicts counts: the last one on each object, by its name. */
type Verdicts = ReadonlyMap<string, string>;

/**
 * A cluster, the log, and one process after the other that follows and collects it, by a time that the test lets pass. The decider
 * answers each fact at once.
 */
export class ClusterWorld {
  /** What is served; a test may change it. */
  readonly kinds: ApiKind[] = [...SERVED];
  readonly cluster: SimulatedCluster;
  readonly deeds: Deeds;
  readonly watches = new Watches();
  readonly time = manualTime(() => 0);
  readonly results: ResultEvent[] = [];
  readonly facts: Ownership[] = [];
  policy: ClusterPolicy = clusterPolicy();
  /** Whether the log takes anything. */
  isLogAway = false;
  readonly #facts: LogRecord[] = [];
  readonly #commands: ClusterCommand[] = [];
  readonly #verdicts = new Map<string, string>();
  readonly #running = new Map<Life, ClusterExecutor>();
  #ids = 0;

  constructor(kinds: readonly ApiKind[] = []) {
    this.kinds.push(...kinds);
    this.cluster = new SimulatedCluster({
      kinds: this.kinds,
      now: () => this.nowMs,
      newId: () => this.#newId(),
    });
    this.deeds = new Deeds(this.cluster);
    onTestFinished(() => this.end());
  }

  get nowMs(): number {
    return DATE_MS + this.time.now().sinceBootMs;
  }

  get verdicts(): Verdicts {
    return this.#verdicts;
  }

  /** Begins a process, after the end of all before. `dies`: at this step, before or after it came about. */
  async begin(dies: Life['dies'] = null): Promise<Life> {
    await this.end();
    return this.join(dies);
  }

  /** Begins one more process beside those that run. */
  join(dies: Life['dies'] = null): Life {
    const life = new Life(dies);
    const nowMs = (): number => this.time.now().sinceBootMs;
    const connection = mortalConnection(this, life, this.time.sleep, nowMs);
    const common = { sleep: this.time.sleep, random: () => 0, nowMs, logger: pino({ level: 'silent' }) };
    const agent = new ClusterAgent('c1', {
      ...common,
      connection,
      publish: (fact) => this.#publish(life, fact),
      policy: () => clusterPolicyRecord(this.policy),
      earlierFacts: (clusterInstance, signal) => {
        const identity = { cluster: 'c1', clusterInstance };
        return readEarlierFacts({ identity, log: readableLog(this.#facts).log, trust: TRUST_OFF }, signal);
      },
      onWatchEnded: () => undefined,
      holds: () => contentHash(this.policy),
      newId: () => this.#newId(),
    });
    const executor = new ClusterExecutor({
      ...common,
      identity: this.identity,
      executor: this.#newId(),
      connection,
      index: agent,
      policy: () => ({ kind: 'policy', record: clusterPolicyRecord(this.policy), approvals: [] }),
      localHold: () => null,
      objectionTo: () => null,
      recent: recentResults(this.results),
      publish: (events) => life.step(() => void this.results.push(...events.map(({ event }) => event))),
      save: () => life.step(() => undefined),
      metrics: createMetrics(),
      requestsPerSecond: 50,
    });
    this.#running.set(life, executor);
    const running = [agent.run(life.stop.signal), executor.run(life.stop.signal)];
    void Promise.allSettled(running);
    // As its consumer looks back.
    for (const command of this.#commands) give(command, executor);
    return life;
  }

  /** Whatever they were doing is not done any more. */
  async end(): Promise<void> {
    for (const life of this.#running.keys()) {
      life.kill();
      life.stop.abort();
    }
    this.#running.clear();
    await this.pass(3);
  }

  /** No executor reads again what was ordered until now: its topic was deleted, or the orders are too old to be looked for. */
  loseCommands(): void {
    this.#commands.splice(0);
  }

  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await this.time.pass(1_000);
      for (let look = 0; look < 12; look++) await nextLook(look);
    }
  }

  async passUntil(what: string, isSo: () => boolean, seconds = 300): Promise<void> {
    for (let second = 0; !isSo(); second++) {
      if (second >= seconds) throw new Error(`${seconds} s passed without: ${what}`);
      await this.pass(1);
    }
  }

  get identity() {
    const home = this.cluster.store.get(NAMESPACE, { namespace: '', name: 'kube-system' });
    return { cluster: 'c1', clusterInstance: home?.metadata.uid ?? '' };
  }

  async #publish(life: Life, fact: AgentFact): Promise<void> {
    if (fact.type !== 'fleetgc.cluster.ownership') return;
    while (this.isLogAway && !life.stop.signal.aborted) await this.time.sleep(1_000, life.stop.signal);
    await life.step(() => this.#takeFact(Ownership.parse(fact)));
  }

  #takeFact(fact: Ownership): void {
    const offset = BigInt(this.#facts.length);
    this.facts.push(fact);
    this.#facts.push(recordOf(clusterOutput('clusterOwnership', fact), { offset }));
    const { verdicts, items } = decide(fact, this.policy, []);
    for (const { position, action, rule } of verdicts)
      this.#verdicts.set(fact.candidates[position]?.object.name ?? '', `${action} ${rule}`);
    if (items.length === 0) return;
    const command = ClusterCommand.parse({
      type: 'fleetgc.cluster.command',
      version: 1,
      id: this.#newId(),
      ...this.identity,
      decisionId: this.#newId(),
      factId: fact.id,
      takenAt: fact.takenAt,
      lifetimeMs: this.policy.commandLifetimeMs,
      policy: {
        name: this.policy.name,
        version: 1,
        hash: contentHash(this.policy),
        setHash: contentHash([]),
      },
      items,
    });
    this.#commands.push(command);
    for (const [life, executor] of this.#running) if (!life.isDead) give(command, executor);
  }

  #newId(): string {
    return `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`;
  }
}

function give(event: ClusterCommand, executor: ClusterExecutor): void {
  const position = { topic: 't', partition: 0, offset: '0', sha256: '' };
  void executor.commands({ event, position });
}
