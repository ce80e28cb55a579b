import { z } from 'zod';

/** The kind of the objects by which people of a cluster write policies for its nodes. No namespace: nodes have none either. */
export const POLICY_OBJECTS = {
  group: 'fleetgc.io',
  version: 'v1alpha1',
  kind: 'GarbageCollectionPolicy',
  resource: 'garbagecollectionpolicies',
  namespaced: false,
} as const;

/** The apiVersion that such objects have. */
export const POLICY_OBJECTS_API = `${POLICY_OBJECTS.group}/${POLICY_OBJECTS.version}`;

const MOST_TOLD = 20;
const LONGEST_SENTENCE = 1_000;
const Sentence = z.string().max(LONGEST_SENTENCE);
const Time = z.iso.datetime();
const Count = z.int().nonnegative();

/** In the form that all of Kubernetes has. */
export const PolicyCondition = z.strictObject({
  type: z.enum(['Accepted', 'Ready']),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().min(1).max(100),
  message: Sentence,
  lastTransitionTime: Time,
  observedGeneration: Count,
});
export type PolicyCondition = z.infer<typeof PolicyCondition>;

/** What the controller tells of an object. What it does not know is not there. */
export const PolicyObjectStatus = z.strictObject({
  observedGeneration: Count.describe('Of the spec that all of this is about.'),
  policyName: z.string().max(63).optional().describe('What the policy is called on the event log.'),
  policyVersion: z
    .int()
    .positive()
    .optional()
    .describe('How often its contents on the event log have changed, from 1.'),
  lastChangeTime: Time.optional().describe('When the event log took what stands there now.'),
  nodesSelected: Count.optional().describe(
    'Nodes of this cluster that the selector selects, of those that the event log has heard lately.',
  ),
  nodesFollowing: Count.optional().describe(
    'Of them, nodes for which this policy holds. For the others another one holds, which problems names.',
  ),
  problems: z
    .array(Sentence)
    .max(MOST_TOLD)
    .optional()
    .describe('What somebody should look at, a sentence each.'),
  conditions: z
    .array(PolicyCondition)
    .max(PolicyCondition.shape.type.options.length)
    .describe('Accepted: the spec is a policy. Ready: it stands on the event log as it is written here.'),
});
export type PolicyObjectStatus = z.infer<typeof PolicyObjectStatus>;

/** As many sentences, and of each so much, as a status holds. */
export const toldSentences = (sentences: readonly string[]): string[] =>
  sentences.slice(0, MOST_TOLD).map(toldSentence);

export const toldSentence = (sentence: string): string => sentence.slice(0, LONGEST_SENTENCE).toWellFormed();
