/**
 * Whether a runtime is that of K3s or RKE2, by the version that it tells: `v2.1.5-k3s1`, `2.0.5+rke2r1`. These import the
 * archives in their directory `agent/images`, and give what they import all that a pull leaves (M12).
 */
export const importsLikePulls = (version: string): boolean => /[-+.](k3s|rke2)/i.test(version);
