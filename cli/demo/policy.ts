/** The policy of the demo. Its ages are seconds, so that something happens while one watches. */
export const DEMO_POLICY = `name: demo
mode: enforce
imageGCHighThresholdPercent: 80     # begin to make room at 80 % used
imageGCLowThresholdPercent: 60      # and stop at 60 %
imageMinimumGCAge: 5s               # the kubelet's default is 2m
minimumCreatedContainerAge: 10s     # FleetGC's default is 5m
maximumDeadContainersPerContainer: 1
keep:
  images: ["registry.example/platform/*"]
`;
