import type { AnyDeciderName } from '../../../../schemas/events/deciders.ts';
import type { TopicId } from '../../../../schemas/events/topics.ts';
import { decider as containerGc } from '../../../../services/functions/deciders/container-gc.ts';
import { decider as expiryGc } from '../../../../services/functions/deciders/expiry-gc.ts';
import { decider as graphGc } from '../../../../services/functions/deciders/graph-gc.ts';
import { decider as imageGc } from '../../../../services/functions/deciders/image-gc.ts';
import { decider as podGc } from '../../../../services/functions/deciders/pod-gc.ts';
import { decider as pressure } from '../../../../services/functions/deciders/pressure.ts';
import type { DecisionFunction } from '../../../../services/functions/decision-function.ts';

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
