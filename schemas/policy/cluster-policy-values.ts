import { z } from 'zod';
import { list, MAX_INT32, wholeNumber } from './written-values.ts';

/** Values as people write them in several sections of a policy for clusters. */

/** The core group has no name; elsewhere a version in front is a mistake. */
const kindWritten = z
  .string({ error: 'must be the name of a kind' })
  .max(320, { error: 'is too long' })
  .regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$/, {
    error:
      'must be a kind with its group before it, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
  })
  .refine((kind) => !/^v\d[a-z0-9]*\//.test(kind), {
    error:
      'begins with a version: write the group, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
  });
export const kindsWritten = list(kindWritten).max(1_000, { error: 'has more than 1000 entries' });

/** A number of objects. */
export const objectsWritten = wholeNumber('must be a whole number above 0')
  .min(1, { error: 'must be at least 1' })
  .max(MAX_INT32, { error: 'is too large' });
