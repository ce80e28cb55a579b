import type { Metrics } from '../../../packages/process/metrics.ts';
import { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import type { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import { STATUSES, type Status } from './http/problem.ts';

const OUTCOMES = ['processed', ...DeadLetterCause.options] as const;
type Outcome = (typeof OUTCOMES)[number];

/** What is counted of a decision service that is called. */
export interface FunctionCounts {
  /** An event was decided on, or refused for this cause. */
  done(outcome: Outcome): void;
  /** A request was answered with this status. */
  answered(status: Status): void;
  /** A connection was one too many of its address. */
  refusedConnection(): void;
}

export function functionCounts(metrics: Metrics, decider: AnyDeciderName): FunctionCounts {
  const events = metrics.count(
    'function_events_total',
    'Events that callers brought, by what became of them.',
    {
      decider: [decider],
      outcome: OUTCOMES,
    },
  );
  const requests = metrics.count(
    'function_requests_total',
    'Requests to decide, by the status of the answer.',
    {
      decider: [decider],
      status: STATUSES.map(String),
    },
  );
  const connections = metrics.count(
    'function_connections_refused_total',
    'Connections that were ended at once, since their address had as many as it may.',
    { decider: [decider] },
  );
  return {
    done: (outcome) => events.add({ decider, outcome }),
    answered: (status) => requests.add({ decider, status: String(status) }),
    refusedConnection: () => connections.add({ decider }),
  };
}
