import { isFact, type Trust } from './trust.ts';

/** Facts of nodes are judged apart from what is ordered and set: they come from many more machines. */
export const judgingApart = (others: Trust, facts: Trust): Trust => ({
  authenticate: (topic, record) => (isFact(topic) ? facts : others).authenticate(topic, record),
  objectionToHeaders: (topic, headers) => (isFact(topic) ? facts : others).objectionToHeaders(topic, headers),
  objectionTo: (topic, ...about) => (isFact(topic) ? facts : others).objectionTo(topic, ...about),
});
