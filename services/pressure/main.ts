import { NodeWatch } from '../../packages/fleet-watch/node-watch.ts';
import type { Consumer } from '../../packages/pipeline/consume.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../packages/service/decision-service.ts';
import { DECIDER } from './decide.ts';
import { pressureHandler, resultsHandler } from './handler.ts';

/** Starts one replica of pressure: disk statistics and reclaims that go on in, orders to observe out. It
 * hears of every node each minute, so it watches. */
export async function startPressure(deps: DecisionServiceDeps<'node'>): Promise<Consumer> {
  const watch = new NodeWatch(deps);
  const consumer = await startDecisionService(
    {
      name: 'pressure',
      group: 'fleetgc-pressure',
      handlers: (policies) => ({ diskStats: pressureHandler(policies), results: resultsHandler(policies) }),
      decider: DECIDER,
      onEvent: (event, record) => watch.received(event, record),
    },
    deps,
  );
  watch.follow(consumer);
  return consumer;
}
