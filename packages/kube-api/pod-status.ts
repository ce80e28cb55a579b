/** All of the status of a pod that is ever written. What limits an account allows it these. */
export const POD_STATUS_FIELDS = ['phase', 'observedGeneration', 'conditions'] as const;

export type WrittenPodStatus = Partial<Readonly<Record<(typeof POD_STATUS_FIELDS)[number], unknown>>>;
