/** With which a request to decide is answered. */
export const STATUSES = [200, 204, 400, 401, 403, 404, 405, 413, 415, 422, 431, 500, 503] as const;
export type Status = (typeof STATUSES)[number];
