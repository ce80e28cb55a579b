import { DECIDERS } from '../../../packages/deciders/registry.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import {
  type DecisionService,
  type DecisionWriting,
  type DecisionWritingDeps,
  openDecisionWriting,
} from '../../../packages/service/decision-writing.ts';
import type { AnyDeciderName } from '../../../schemas/events/deciders.ts';
import type { SubjectKind } from '../../../schemas/events/identity.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';

/** What all decision services are given alike; each has the policies of its own kind of subject. */
export type SharedDeps = Omit<DecisionWritingDeps<SubjectKind>, 'policies'>;

/** A decision service as a function of one event, whatever brings the events. */
export interface DecisionFunction {
  readonly name: AnyDeciderName;
  /** The consumer group that would bring them from the event log. */
  readonly group: string;
  /** Of which topics it takes events. */
  readonly topics: readonly TopicId[];
  open(current: PolicySource['current'], deps: SharedDeps): DecisionWriting;
}

export function decisionFunction<Kind extends SubjectKind>(service: DecisionService<Kind>): DecisionFunction {
  const handlers = service.handlers(noPolicies);
  const isTaken = (id: string): id is TopicId => id in TOPICS && id in handlers;
  return {
    name: service.decider.name,
    group: service.group,
    topics: Object.keys(handlers).filter(isTaken),
    open: (current, deps) => openDecisionWriting(service, { ...deps, policies: current[service.subject] }),
  };
}

function noPolicies(): never {
  throw new TypeError('handlers are only listed here');
}

/** The function of one of them, which is loaded for it. */
export async function loadFunction<Name extends AnyDeciderName>(name: Name): Promise<DecisionFunction> {
  const { decider } = await DECIDERS[name].load();
  return decisionFunction(decider);
}
