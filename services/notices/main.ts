import type { Logger } from 'pino';
import { openConnection } from '../../packages/kube-api/open-connection.ts';
import type { Environment } from '../../packages/kube-api/proxy.ts';
import { runTogether } from '../../packages/process/loops.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { consumeUntil } from '../../packages/service/consume-until.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { NOTICE_KINDS } from '../../schemas/notices/notice.ts';
import type { NoticeReceiver, NoticeRules } from '../../schemas/notices/notice-rules.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { becomesEvent, KubernetesReceiver } from './kubernetes.ts';
import { Lane } from './lane.ts';
import { type Listener, listen } from './listen.ts';
import type { Receiver } from './message.ts';
import { laneMetrics } from './metrics.ts';
import { type MatchingRule, rulesTo } from './notices.ts';
import { slackReceiver, webhookReceiver } from './webhook.ts';

export interface NoticesSettings {
  readonly process: Pick<ServiceProcess, 'log' | 'trust' | 'metrics' | 'logger' | 'sources' | 'addCheck'>;
  /** Those that are active; `null` where no rule is about what is held. Throws `POLICIES_UNREADABLE`. */
  readonly policies: (() => PolicySetOf<'cluster'>) | null;
  readonly receivers: readonly OpenReceiver[];
}

/** A receiver of the rule file, with what it is reached by. */
export interface OpenReceiver {
  readonly name: string;
  readonly receiver: Receiver;
  readonly maxAgeMs: number;
  readonly rules: readonly MatchingRule[];
}

export interface OpenNeeds {
  readonly environment: Environment;
  readonly logger: Logger;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
}

/** Reads the files that the rules name; nobody is asked yet. Throws `CONFIG_INVALID`. */
export function openReceivers(rules: NoticeRules, needs: OpenNeeds): OpenReceivers {
  using opening = new DisposableStack();
  const receivers = rules.receivers.map((given) => {
    const { name, maxAge: maxAgeMs } = given;
    const receiver = receiverOf(given, needs, opening);
    return { name, maxAgeMs, receiver, rules: narrowed(rulesTo(rules, name), given) };
  });
  const open = opening.move();
  return { receivers, [Symbol.dispose]: () => open.dispose() };
}

/** Disposing closes their connections. */
export interface OpenReceivers extends Disposable {
  readonly receivers: readonly OpenReceiver[];
}

function receiverOf(given: NoticeReceiver, needs: OpenNeeds, opening: DisposableStack): Receiver {
  switch (given.type) {
    case 'webhook':
      return webhookReceiver(given, needs);
    case 'slack':
      return slackReceiver(given, needs);
    case 'kubernetes': {
      const connection = opening.use(openConnection(given, needs).connection);
      return new KubernetesReceiver({ connection, monotonicNow: needs.sources.monotonicNow });
    }
  }
}

/** What becomes no Event in the cluster of a receiver is not for it. */
function narrowed(rules: readonly MatchingRule[], given: NoticeReceiver): readonly MatchingRule[] {
  if (given.type !== 'kubernetes') return rules;
  return rules.map((rule) => ({
    ...rule,
    kinds: rule.kinds.filter((kind) => NOTICE_KINDS[kind].isNodeEvent),
    matches: (notice, steps) => rule.matches(notice, steps) && becomesEvent(notice, given.cluster),
  }));
}

/** Tells what the log has until `signal` aborts. */
export async function runNotices(
  { process, policies, receivers }: NoticesSettings,
  signal: AbortSignal,
): Promise<void> {
  const { logger, metrics, sources } = process;
  await using stack = new AsyncDisposableStack();
  const delivering = new AbortController();
  const lanes: Lane[] = [];
  const listeners: Listener[] = [];
  for (const { name, receiver, maxAgeMs, rules } of receivers) {
    const lane = new Lane({
      name,
      receiver,
      rules,
      maxAgeMs,
      metrics: laneMetrics(metrics, name),
      logger,
      sources,
    });
    const kinds = [...new Set(rules.flatMap((rule) => rule.kinds))];
    const listener = stack.use(await listen({ ...process, policies }, { receiver: name, kinds, lane }));
    // Who cannot be reached makes nobody unready: the others go on.
    process.addCheck({
      name: `receiver ${name}`,
      problem: () => listener.problem(),
      notice: () => lane.problem(),
    });
    lanes.push(lane);
    listeners.push(listener);
  }
  logger.info({ receivers: receivers.map(({ name }) => name) }, 'telling what happens');
  // What is in hand may still be delivered while its readers stop.
  const reading = (ending: AbortSignal): Promise<void> =>
    consumeUntil(ending, listeners).finally(() => delivering.abort());
  await runTogether(
    [
      reading,
      ...listeners.map((listener) => (ending: AbortSignal) => listener.watchSilence(ending)),
      ...lanes.map((lane) => () => lane.run(delivering.signal)),
    ],
    signal,
  );
}
