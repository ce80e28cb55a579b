import { z } from 'zod';

/** As an API server takes them: a name with a prefix of at most 253 characters, and a value that may be empty. */
export const LabelName = z
  .string()
  .max(317)
  .regex(/^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/);
export const LabelValue = z.string().regex(/^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$/);

/** Labels of one object that one fact tells. */
export const MAX_LABELS = 100;
export const Labels = z
  .record(LabelName, LabelValue)
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS);
export type Labels = z.infer<typeof Labels>;
