import { z } from 'zod';
import { ClusterName } from '../events/identity.ts';
import {
  globsProblem,
  globWritten,
  MAX_GLOBS,
  MAX_WEIGHT_OF_IMAGE_GLOBS,
  MAX_WEIGHT_OF_NODE_GLOBS,
  TOO_MANY_GLOBS,
} from './glob.ts';
import {
  hasFewEntries,
  KeepRules,
  MAX_ENTRY_LENGTH,
  MAX_KEPT_DIGESTS,
  MAX_LABEL_VALUE_LENGTH,
  MAX_LIST_ENTRIES,
} from './image-pattern.ts';
import { KEEP_DEFAULTS } from './policy-defaults.ts';
import { list, MAX_INT32, section, text, truth, wholeNumber } from './written-values.ts';

const labels = z
  .record(
    z.string().min(1).max(MAX_ENTRY_LENGTH),
    z
      .string({ error: 'must be text; put it in quotes, as in "true" or "1"' })
      .max(MAX_LABEL_VALUE_LENGTH, { error: `must have at most ${MAX_LABEL_VALUE_LENGTH} characters` }),
    { error: 'must be a map of names and values' },
  )
  .refine(hasFewEntries, { error: `must have at most ${MAX_LIST_ENTRIES} entries` });
const TOO_MANY_ENTRIES = `must have at most ${MAX_LIST_ENTRIES} entries`;

const patterns = (error: string, mostWeight: number) =>
  list(globWritten(error))
    .max(MAX_GLOBS, { error: TOO_MANY_GLOBS })
    .superRefine((written, context) => {
      const problem = globsProblem(written, mostWeight);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem, input: written });
    });

/** A condition that was emptied, by a template or a variable that is not set, must not select every node. */
const EMPTY_CONDITION = 'must not be empty; leave it out for no such condition';

/** The conditions of a selector, as far as given. */
export const selectorConditions = {
  clusters: list(ClusterName)
    .min(1, { error: EMPTY_CONDITION })
    .max(MAX_LIST_ENTRIES, { error: TOO_MANY_ENTRIES }),
  nodeNames: patterns('must be a pattern over node names', MAX_WEIGHT_OF_NODE_GLOBS).min(1, {
    error: EMPTY_CONDITION,
  }),
  pools: list(
    text('must be the name of a pool, as text').max(MAX_ENTRY_LENGTH, {
      error: `must have at most ${MAX_ENTRY_LENGTH} characters`,
    }),
  )
    .min(1, { error: EMPTY_CONDITION })
    .max(MAX_LIST_ENTRIES, { error: TOO_MANY_ENTRIES }),
};

/** Which nodes; every condition that is given must hold. */
export const Selector = section({
  clusters: selectorConditions.clusters.optional().describe('Names of clusters.'),
  nodeNames: selectorConditions.nodeNames
    .optional()
    .describe('Glob patterns over node names, of * and ?; one that matches is enough.'),
  pools: selectorConditions.pools
    .optional()
    .describe('Pools: values of the node label fleetgc.io/pool. One that is equal is enough.'),
  nodeLabels: labels
    .refine((conditions) => Object.keys(conditions).length > 0, { error: EMPTY_CONDITION })
    .optional()
    .describe('Labels that a node must have, all of them.'),
});
export const namespace = z
  .string({ error: 'must be the name of a namespace' })
  .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, {
    error:
      'must be the whole name of a namespace: lower-case letters, digits and dashes; patterns have no meaning here',
  });
/** What is never removed. */
export const Keep = section({
  images: patterns('must be a pattern over image names', MAX_WEIGHT_OF_IMAGE_GLOBS)
    .default([])
    .describe(
      'Glob patterns over whole image names; * and ? stop at a slash, ** does not. No other wildcards.',
    ),
  digests: list(KeepRules.shape.digests.element)
    .max(MAX_KEPT_DIGESTS, { error: `must have at most ${MAX_KEPT_DIGESTS} entries` })
    .default([])
    .describe('Digests, or image ids.'),
  labels: labels.default({}).describe('Labels of images; one that is equal is enough.'),
  namespaces: list(namespace)
    .max(MAX_LIST_ENTRIES, { error: TOO_MANY_ENTRIES })
    .default([])
    .describe(
      'Namespaces of Kubernetes whose containers, sandboxes and logs stay, and so the images they use.',
    ),
  unpullable: truth
    .optional()
    .describe(
      'Whether images stay that cannot be pulled again: without a repo digest or a registry name, of localhost/, or not known to have been pulled by this node where its runtime could tell. Default: true, in profile kubelet false.',
    ),
  lastVersions: wholeNumber('must be a whole number; 0 is off')
    .min(0, { error: 'must be at least 0' })
    .max(MAX_INT32, { error: 'is too large' })
    .default(KEEP_DEFAULTS.lastVersions)
    .describe('How many of the newest images of each repository stay; 0 is off.'),
});
