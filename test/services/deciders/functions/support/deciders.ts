import type { AnyDeciderName } from '../../../../../schemas/events/deciders.ts';
import type { TopicId } from '../../../../../schemas/events/topics.ts';
import {
  type DecisionFunction,
  loadFunction,
} from '../../../../../services/deciders/functions/decision-function.ts';

const containerGc = await loadFunction('container-gc');
const expiryGc = await loadFunction('expiry-gc');
const graphGc = await loadFunction('graph-gc');
const imageGc = await loadFunction('image-gc');
const podGc = await loadFunction('pod-gc');
const pressure = await loadFunction('pressure');

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
