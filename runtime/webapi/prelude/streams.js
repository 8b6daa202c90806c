(function () { return {}; })
