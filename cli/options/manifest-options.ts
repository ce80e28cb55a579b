import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';

/** For verbs that print objects of Kubernetes for others to apply. */
export const manifestOptions = {
  output: withMeta(z.enum(['yaml', 'json']).prefault('yaml'), {
    commandLineOnly: true,
    description: 'yaml: a document each; json: one list. kubectl takes both with -f -.',
  }),
};
