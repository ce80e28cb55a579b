import type { AnyDeciderName } from '../../../../../schemas/events/deciders.ts';
import type { TopicId } from '../../../../../schemas/events/topics.ts';
import { decider as containerGc } from '../../../../../services/deciders/functions/deciders/container-gc.ts';
import { decider as expiryGc } from '../../../../../services/deciders/functions/deciders/expiry-gc.ts';
import { decider as graphGc } from '../../../../../services/deciders/functions/deciders/graph-gc.ts';
import { decider as imageGc } from '../../../../../services/deciders/functions/deciders/image-gc.ts';
import { decider as podGc } from '../../../../../services/deciders/functions/deciders/pod-gc.ts';
import { decider as pressure } from '../../../../../services/deciders/functions/deciders/pressure.ts';
import type { DecisionFunction } from '../../../../../services/deciders/functions/decision-function.ts';

const FUNCTIONS: Readonly<Record<AnyDeciderName, DecisionFunction>> = {
  pressure,
  'container-gc': containerGc,
  'image-gc': imageGc,
  'graph-gc': graphGc,
  'pod-gc': podGc,
  'expiry-gc': expiryGc,
};

/** As its own table of handlers says. */
export const topicsReadBy = (decider: AnyDeciderName): readonly TopicId[] => FUNCTIONS[decider].topics;
