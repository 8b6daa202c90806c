import { area } from "../probe.js";

// ID-3j and ID-9j: types of arguments. ID-4j: own properties. ID-8j: what is no ID. ID-12: jurisdictions are
// refused. ID-13: a location hint is accepted. ID-14: IDs and namespaces over a call.
area("ids", {
  worker: {
    "form": ({ env }) => /^[0-9a-f]{64}$/.test(env.PROBE.idFromName("a").toString()),
    "of the same name": ({ env }) => env.PROBE.idFromName("a").equals(env.PROBE.idFromName("a")),
    "of other names": ({ env }) => env.PROBE.idFromName("a").equals(env.PROBE.idFromName("b")),
    "of other namespaces": ({ env }) => env.PROBE.idFromName("a").equals(env.SILENT.idFromName("a")),
    "name": ({ env }) => [env.PROBE.idFromName("a").name, env.PROBE.idFromName("").name],
    "of no name": ({ env }) => env.PROBE.idFromName(),
    "of a number": ({ env }) => env.PROBE.idFromName(5).name,
    "of null": ({ env }) => env.PROBE.idFromName(null).name,
    "unique": ({ env }) => [env.PROBE.newUniqueId().equals(env.PROBE.newUniqueId()), env.PROBE.newUniqueId().name],
    "keys": ({ env }) => Object.keys(env.PROBE.newUniqueId()).sort(),
    "class": ({ env }) => [env.PROBE.newUniqueId().constructor.name, env.PROBE.constructor.name],
    "in text": ({ env }) => String(env.PROBE.idFromName("a")),
    "in JSON": ({ env }) => JSON.stringify(env.PROBE.idFromName("a")),
    "from text": ({ env }) => {
      const id = env.PROBE.idFromName("a");
      const back = env.PROBE.idFromString(id.toString());
      return [back.equals(id), back.name];
    },
    "from text in capitals": ({ env }) => {
      const id = env.PROBE.idFromName("a");
      return env.PROBE.idFromString(id.toString().toUpperCase()).equals(id);
    },
    "from short text": ({ env }) => env.PROBE.idFromString("abc"),
    "from empty text": ({ env }) => env.PROBE.idFromString(""),
    "from text that is no hex": ({ env }) => env.PROBE.idFromString("z".repeat(64)),
    "from text of another namespace": ({ env }) => env.PROBE.idFromString(env.SILENT.idFromName("a").toString()),
    "from zeros": ({ env }) => env.PROBE.idFromString("0".repeat(64)),
    "from nothing": ({ env }) => env.PROBE.idFromString(),
    "equal to text": ({ env }) => env.PROBE.idFromName("a").equals("a"),
    "equal to nothing": ({ env }) => env.PROBE.idFromName("a").equals(),
    "get of text": ({ env }) => env.PROBE.get("a"),
    "get of nothing": ({ env }) => env.PROBE.get(),
    "getByName": ({ env }) => {
      const stub = env.PROBE.getByName("a");
      return [stub.id.equals(env.PROBE.idFromName("a")), stub.name, stub.id.name];
    },
    "getByName of nothing": ({ env }) => env.PROBE.getByName(),
    "get with a hint": ({ env }) => env.PROBE.get(env.PROBE.idFromName("a"), { locationHint: "weur" }).name,
    "jurisdiction": ({ env }) => env.PROBE.jurisdiction("eu"),
    "jurisdiction of a unique id": ({ env }) => env.PROBE.newUniqueId({ jurisdiction: "eu" }),
    "methods of the namespace": ({ env }) => Object.getOwnPropertyNames(Object.getPrototypeOf(env.PROBE)).sort(),
    "methods of the id": ({ env }) => Object.getOwnPropertyNames(Object.getPrototypeOf(env.PROBE.newUniqueId())).sort(),
    "name within": ({ object }) => object("me").called(),
    "name within, by text": ({ env, object }) => env.PROBE.get(env.PROBE.idFromString(object("you").id.toString())).called(),
    "name within of a unique one": ({ env }) => env.PROBE.get(env.PROBE.newUniqueId()).called(),
    "over a call": ({ env, object }) => object().echo(env.PROBE.idFromName("a")),
    "namespace over a call": ({ env, object }) => object().echo(env.PROBE),
    "an id that is changed": ({ env }) => {
      const id = env.PROBE.idFromName("a");
      id.name = "b";
      return id.name;
    },
  },
  object: {
    "keys within": (ctx) => Object.keys(ctx.id).sort(),
    "the same as outside": (ctx, env) => ctx.id.equals(env.PROBE.idFromName(ctx.id.name)),
  },
});
