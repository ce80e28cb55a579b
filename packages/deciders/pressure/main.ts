import { NodeWatch } from '../../fleet-watch/fleet-watch.ts';
import type { Consumer } from '../../records/consume.ts';
import type { OnEvent } from '../../records/decide.ts';
import { type DecisionServiceDeps, startDecisionService } from '../../service/decision-service.ts';
import type { DecisionService } from '../../service/decision-writing.ts';
import { DECIDER } from './decide.ts';
import { pressureHandler, resultsHandler } from './handler.ts';

/** What it reads, and how it decides, whatever process it runs in. */
export const PRESSURE: DecisionService<'node'> = {
  name: 'pressure',
  group: 'fleetgc-pressure',
  handlers: (policies) => ({ diskStats: pressureHandler(policies), results: resultsHandler(policies) }),
  decider: DECIDER,
};

/** Starts one replica of pressure: disk statistics and reclaims that go on in, orders to observe out. It
 * hears of every node each minute, so it watches. */
export async function startPressure(deps: DecisionServiceDeps<'node'>): Promise<Consumer> {
  const watch = new NodeWatch(deps);
  const onEvent: OnEvent = (event, record) => watch.received(event, record);
  const consumer = await startDecisionService({ ...PRESSURE, onEvent }, deps);
  watch.follow(consumer);
  return consumer;
}
