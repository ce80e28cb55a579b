import type { ActiveSubscription, SliceHandler, Subscription } from '../port.ts';
import { supervise } from '../supervisor.ts';
import { prepareConnections } from './connections.ts';
import type { KafkaCore } from './core.ts';
import { runSession } from './session.ts';

/** Joins the group and serves its share in the background until it is stopped; a session that fails is followed by another. */
export function startMember(
  core: KafkaCore,
  subscription: Subscription,
  handle: SliceHandler,
): ActiveSubscription {
  const { options, context } = core;
  const sinceMs = context.now();
  const stragglers = new Map<string, Promise<void>>();
  return supervise(context, {
    group: subscription.group,
    serve: (standing, stopping) => {
      const connections = prepareConnections(options, context, { subscription, sinceMs });
      return runSession({ connections, subscription, handle, core, standing, stopping, stragglers });
    },
    leave: async () => undefined,
  });
}
