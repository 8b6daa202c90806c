// The classes of objects that probes use.
import { DurableObject } from "cloudflare:workers";
import { runWithin } from "./probe.js";

// Probe runs probes of an object within it.
export class Probe extends DurableObject {
  run(area, name) {
    return runWithin(area, name, this);
  }
}
